/** A conversation of Codex that ends with the assistant: it sends what it has got of an answer that broke off. */
import { describe, expect, it } from 'vitest'
import { makeSeals } from '../../src/gateway/dialects/seals.ts'
import { pair, refusalOf } from './pairs.ts'

const seals = makeSeals({ backend: 'b', model: 'm', team: '@acme/core', keys: [new Uint8Array(32)] })
const caps = { thinking: 'adaptive' } as const

const asked = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Fix it.' }] }
const said = (text: string) => ({ type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] })
const thought = {
  type: 'reasoning',
  summary: [{ type: 'summary_text', text: 'hm' }],
  encrypted_content: seals.write({ kind: 'signed', data: 'sig', before: null }, 'hm'),
}
const called = { type: 'function_call', call_id: 'c1', name: 'run', arguments: '{}' }
const result = { type: 'function_call_output', call_id: 'c1', output: 'done' }

const body = (...input: object[]) => ({ input, reasoning: { effort: 'high' } })
const sent = (...input: object[]) =>
  pair('responses', 'messages', body(...input), { caps, seals, isCodex: true }).request
const lastOf = (request: object) => (request as { messages: object[] }).messages.at(-1)

describe('at a messages backend, a conversation of Codex that ends with the assistant', () => {
  it('goes on after its last text, without new reasoning', () => {
    const request = sent(asked, thought, said('I run it.'))
    expect(request).toMatchObject({
      messages: [
        { role: 'user' },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', signature: 'sig' },
            { type: 'text', text: 'I run it.' },
          ],
        },
        {
          role: 'user',
          content: [{ type: 'text', text: expect.stringMatching(/^<system>\nYour last message broke off/) }],
        },
      ],
    })
    expect(request).not.toHaveProperty('thinking')
    expect(request).not.toHaveProperty('output_config')
  })

  it.each<[string, object[], string]>([
    ['reasoning', [asked, thought], 'Fix it.'],
    ['reasoning of several attempts', [asked, thought, thought], 'Fix it.'],
    ['a blank text', [asked, thought, said(' ')], 'Fix it.'],
    ['reasoning after a result', [asked, called, result, thought], 'done'],
  ])('is without its %s at the end, and the model thinks again', (_name, input, text) => {
    const request = sent(...input)
    expect(lastOf(request)).toMatchObject({ role: 'user' })
    expect(JSON.stringify(lastOf(request))).toContain(text)
    expect(JSON.stringify(request)).not.toContain('broke off')
    expect(request).toMatchObject({ thinking: { type: 'adaptive' } })
  })

  it('drops reasoning after a text', () => {
    const request = sent(asked, said('I run it.'), thought)
    expect(JSON.stringify(request)).not.toContain('thinking')
    expect(lastOf(request)).toMatchObject({ role: 'user' })
  })

  it('is refused when the last calls have no results', () => {
    expect(refusalOf('responses', 'messages', body(asked, called), { isCodex: true })).toBe('input.1')
  })

  it.each(['I run', 'I run \n'])('is sent to a model that continues it, without white space at its end: %j', (text) => {
    const { request } = pair('responses', 'messages', body(asked, said(text)), {
      caps: { prefill: true },
      isCodex: true,
    })
    expect(lastOf(request)).toMatchObject({ role: 'assistant', content: [{ type: 'text', text: 'I run' }] })
  })

  it('is continued without reasoning by a model with a thinking budget, which refuses both together', () => {
    const options = { caps: { prefill: true, thinking: 'budget' } } as const
    const thinkingOf = (...input: object[]) => pair('responses', 'messages', body(...input), options).request.thinking
    expect(thinkingOf(asked, said('I run'))).toBe(undefined)
    expect(thinkingOf(asked)).toMatchObject({ type: 'enabled' })
  })
})

it('a chat backend that does not continue a last message of the assistant gets the same text', () => {
  const options = { caps: { prefill: false }, isCodex: true }
  const { request } = pair('responses', 'chat', body(asked, said('I run it.')), options)
  expect(lastOf(request)).toMatchObject({
    role: 'user',
    content: expect.stringContaining('Your last message broke off.'),
  })
})
