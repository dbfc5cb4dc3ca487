import { describe, expect, it } from 'vitest'
import { readList, readObject } from '../../src/gateway/dialects/json/read-json.ts'
import type { Dialect } from '../../src/gateway/dialects/dialect.ts'
import { DIALECTS } from '../../src/gateway/dialects/dialects.ts'
import { readFailure } from '../../src/gateway/dialects/failures/failure.ts'
import { DIALECT_NAMES } from '../../src/kernel/dialect.ts'
import { cpuSecondsOf } from '../support/cpu-seconds.ts'
import { pair, refusalOf } from './pairs.ts'
import { VENDOR_CAPS } from './vendor-caps.ts'

const READ = { type: 'function', function: { name: 'read', parameters: {} } }
const WRITE = { type: 'function', function: { name: 'write', parameters: {} } }
const named = (name: string) => ({ type: 'function', function: { name } })

describe('a refusal of the model', () => {
  const completion = { choices: [{ index: 0, message: { role: 'assistant', refusal: 'No.' }, finish_reason: 'stop' }] }
  const messageFor = (isCodex: boolean) => {
    const made = pair('responses', 'chat', {}, { isCodex }).answer.whole(completion)
    return 'answer' in made ? readList(made.answer.output)[0] : null
  }

  it('is a part of its own for a responses client', () => {
    expect(messageFor(false)).toMatchObject({ content: [{ type: 'refusal', refusal: 'No.' }] })
  })

  it('is a text for Codex, which shows no refusals', () => {
    expect(messageFor(true)).toMatchObject({ content: [{ type: 'output_text', text: 'No.' }] })
  })

  it('has details for a messages client', () => {
    const made = pair('messages', 'chat').answer.whole(completion)
    expect(made).toMatchObject({
      answer: {
        content: [{ type: 'text', text: 'No.' }],
        stop_reason: 'refusal',
        stop_details: { type: 'refusal', category: null },
      },
    })
  })
})

describe('a conversation that a vendor refuses to continue', () => {
  const usage = { input_tokens: 10, output_tokens: 4 }
  const stop_details = { type: 'refusal', category: 'cyber', explanation: 'This is about attacks.' }
  const message = { type: 'message', role: 'assistant', content: [], stop_reason: 'refusal', stop_details, usage }
  const answerFor = (client: Dialect, isCodex: boolean) => {
    const made = pair(client, 'messages', {}, { isCodex }).answer.whole(message)
    return 'answer' in made ? made.answer : made
  }
  const output = [{ content: [{ type: 'output_text', text: 'This is about attacks.' }] }]

  it('fails for Codex with a message, because Codex repeats a call whose answer was filtered', () => {
    expect(answerFor('responses', true)).toMatchObject({
      status: 'failed',
      error: { code: 'invalid_prompt', message: expect.stringContaining('refuses to continue this conversation') },
      incomplete_details: null,
      output,
      usage: { input_tokens: 10, output_tokens: 4 },
    })
  })

  it('is a filtered answer for other clients', () => {
    expect(answerFor('responses', false)).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'content_filter' },
      output,
    })
    expect(answerFor('chat', false)).toMatchObject({ choices: [{ finish_reason: 'content_filter' }] })
  })
})

describe('a choice among some of the tools', () => {
  const body = {
    tools: [READ, WRITE],
    tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [named('write')] } },
  }

  it('keeps the whole list of tools where the dialect has such a choice, so that the cache is found', () => {
    const { tools, tool_choice } = pair('chat', 'responses', body).request
    expect(readList(tools)).toHaveLength(2)
    expect(tool_choice).toEqual({ type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'write' }] })
  })

  it('that has none of them offers no tools', () => {
    const none = { ...body, tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [] } } }
    const { tools, tool_choice } = pair('chat', 'responses', none).request
    expect([tools, tool_choice]).toEqual([undefined, undefined])
  })

  it('cuts the list of tools elsewhere', () => {
    const { tools, tool_choice } = pair('chat', 'messages', body).request
    expect(tools).toMatchObject([{ name: 'write' }])
    expect(tool_choice).toEqual({ type: 'auto' })
  })
})

describe('the message of a prompt that is too long', () => {
  const messageOf = (message: string) => {
    const failure = readFailure({ error: { message, code: 'context_length_exceeded' } }, 400)
    return JSON.stringify(DIALECTS.messages.failureAnswer(failure).body)
  }
  const OPENAI = "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens"

  it.each([
    [`${OPENAI} (5000 in the messages, 4000 in the completion).`, '5000 + 4000 > 8192'],
    [
      "'max_tokens' is too large: 4000. This model's maximum context length is 8192 tokens and your request has 5000 input tokens.",
      '5000 + 4000 > 8192',
    ],
    [
      "Requested token count exceeds the model's maximum context length of 8192 tokens. You requested a total of 9000 tokens: 5000 tokens from the input messages and 4000 tokens for the completion.",
      '5000 + 4000 > 8192',
    ],
  ])('makes an agent lower its token limit where the prompt itself fits: %s', (message, sum) => {
    expect(messageOf(message)).toContain(`input length and \`max_tokens\` exceed context limit: ${sum}`)
  })

  it('is read at once, however many digits it has', async () => {
    const read = () => messageOf(`${OPENAI} (5000 in the messages, ${'0'.repeat(100_000)}).`)
    expect(read()).toContain('prompt is too long: ')
    expect(await cpuSecondsOf(read)).toBeLessThan(1)
  })

  it('makes an agent shorten the conversation otherwise', () => {
    expect(messageOf(`${OPENAI} (8900 in the messages, 100 in the completion).`)).toContain('prompt is too long: ')
    expect(messageOf('Too much.')).toContain('prompt is too long: Too much.')
  })
})

describe('a document', () => {
  const source = { type: 'content', content: [{ type: 'text', text: 'Body' }] }
  const ask = (document: object) => ({ messages: [{ role: 'user', content: [{ type: 'document', ...document }] }] })

  it.each([
    ['of blocks', { source, title: 'Title', context: 'Old' }, 'Title\nOld\n\nBody'],
    ['that is text', { source: { type: 'text', data: 'Body' }, title: 'Title', context: 'Old' }, 'Title\nOld\nBody'],
  ])('%s keeps its title and context', (_, document, text) => {
    expect(pair('messages', 'chat', ask(document)).request.messages).toEqual([{ role: 'user', content: text }])
  })

  it.each(['chat', 'responses'] as const)(
    'that is a file keeps its context and its cache mark, at a %s backend',
    (backend) => {
      const pdf = { source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' }, context: 'Old' }
      const caps = { ...VENDOR_CAPS[backend], cacheMarks: 'explicit' } as const
      const { request } = pair('messages', backend, ask({ ...pdf, cache_control: { type: 'ephemeral' } }), { caps })
      const { content } = readObject(readList(request.messages ?? request.input)[0])
      const [context, file] = readList(content).map(readObject)
      expect(context).toMatchObject({ text: 'Old' })
      expect(context).not.toHaveProperty('prompt_cache_breakpoint')
      expect(file).toHaveProperty('prompt_cache_breakpoint')
    },
  )

  it.each(DIALECT_NAMES.filter((backend) => backend !== 'messages'))(
    'whose data is not base64 is refused by name, for a %s backend',
    (backend) => {
      const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'not base64!' } }
      expect(refusalOf('messages', backend, { messages: [{ role: 'user', content: [image] }] })).toBe(
        'messages.0.content.0',
      )
    },
  )
})

describe('tokens that were written to a cache', () => {
  const usage = {
    input_tokens: 10,
    output_tokens: 1,
    cache_creation_input_tokens: 100,
    cache_creation: { ephemeral_5m_input_tokens: 30, ephemeral_1h_input_tokens: 70 },
  }
  const message = { id: 'm', type: 'message', content: [{ type: 'text', text: 'Hi' }], stop_reason: 'end_turn', usage }
  const details = {
    cache_write_tokens: 100,
    cache_write_tokens_details: { ttl_30m_tokens: 30, ttl_12h_tokens: 70 },
  }

  it.each([
    ['chat', { usage: { prompt_tokens: 110, prompt_tokens_details: details } }],
    ['responses', { usage: { input_tokens: 110, input_tokens_details: details } }],
  ] as const)('are told apart by how long they are kept, for a %s client', (client, answer) => {
    expect(pair(client, 'messages').answer.whole(message)).toMatchObject({ answer })
  })

  it('have no details, on which an SDK fails, where all were written for a short time', () => {
    const short = { ...usage, cache_creation: { ephemeral_5m_input_tokens: 100, ephemeral_1h_input_tokens: 0 } }
    const whole = pair('responses', 'messages').answer.whole({ ...message, usage: short })
    expect(whole).toMatchObject({
      answer: { usage: { input_tokens_details: { cached_tokens: 0, cache_write_tokens: 100 } } },
    })
    expect(JSON.stringify(whole)).not.toContain('cache_write_tokens_details')
  })
})

describe('the session of an agent', () => {
  it('is the cache key of a messages call that names no session itself', () => {
    const { request } = pair('messages', 'responses', {}, { sessionId: 'run-1' })
    expect(request.prompt_cache_key).toBe('run-1')
    const metadata = { user_id: '{"session_id":"of-the-body"}' }
    const named = pair('messages', 'responses', { metadata }, { sessionId: 'run-1' })
    expect(named.request.prompt_cache_key).toBe('of-the-body')
  })
})
