import { describe, expect, it } from 'vitest'
import { readObject } from '../../src/gateway/dialects/json/read-json.ts'
import type { Json } from '../../src/gateway/dialects/json/read-json.ts'
import { checkChatStream } from '../support/stream-grammar.ts'
import { chunks, delta, run } from './streams.ts'

describe('checkChatStream', () => {
  const chunk = (said: unknown, finish: string | null = null): Json => ({
    ...readObject(delta(said, finish)),
    id: 'c',
    model: 'm',
  })
  const call = (index: unknown, id?: string, name?: string): Json =>
    chunk({ tool_calls: [{ index, id, function: { name, arguments: '{}' } }] })
  const usage = { object: 'chat.completion.chunk', id: 'c', model: 'm', choices: [], usage: {} }

  it.each<[string, unknown[]]>([
    [
      'a text',
      [chunk({ role: 'assistant', content: '' }), chunk({ content: 'a' }), chunk({}, 'stop'), usage, '[DONE]'],
    ],
    ['a call', [call(0, 'c1', 'get'), call(0), call(1, 'c2', 'set'), chunk({}, 'tool_calls'), '[DONE]']],
    ['a failure', [chunk({ content: 'a' }), { error: { message: 'x' } }]],
  ])('finds nothing wrong with %s', (_, bodies) => {
    expect(checkChatStream(chunks(...bodies))).toEqual([])
  })

  it.each<[string, unknown[]]>([
    ['nothing at all', []],
    ['no [DONE]', [chunk({ content: 'a' }, 'stop')]],
    ['[DONE] without a reason', [chunk({ content: 'a' }), '[DONE]']],
    ['two [DONE]', [chunk({}, 'stop'), '[DONE]', '[DONE]']],
    ['[DONE] behind an error', [{ error: { message: 'x' } }, '[DONE]']],
    ['an error without a message', [{ error: {} }]],
    ['two reasons', [chunk({}, 'stop'), chunk({}, 'stop'), '[DONE]']],
    ['text behind the reason', [chunk({}, 'stop'), chunk({ content: 'a' }), '[DONE]']],
    ['another id', [chunk({}), { ...chunk({}, 'stop'), id: 'd' }, '[DONE]']],
    ['another model', [chunk({}), { ...chunk({}, 'stop'), model: 'n' }, '[DONE]']],
    ['another object', [{ ...chunk({}, 'stop'), object: 'chat.completion' }, '[DONE]']],
    ['no choices', [{ ...chunk({}), choices: undefined }, chunk({}, 'stop'), '[DONE]']],
    ['a choice without an index', [{ ...chunk({}), choices: [{ delta: {} }] }, chunk({}, 'stop'), '[DONE]']],
    ['a call without an index', [call(undefined, 'c', 'get'), chunk({}, 'tool_calls'), '[DONE]']],
    ['a call without an id', [call(0, undefined, 'get'), chunk({}, 'tool_calls'), '[DONE]']],
    ['a call that changes its name', [call(0, 'c', 'get'), call(0, 'c', 'set'), chunk({}, 'tool_calls'), '[DONE]']],
    ['data that is no JSON', ['x', chunk({}, 'stop'), '[DONE]']],
  ])('finds %s', (_, bodies) => {
    expect(checkChatStream(chunks(...bodies))).not.toEqual([])
  })

  it('finds an event name', () => {
    expect(
      checkChatStream([
        ...run(
          {
            push: (event) => [{ ...event, event: 'chunk' }],
            end: () => [],
            fail: () => [],
            state: () => 'open',
          },
          ...chunks(chunk({}, 'stop')),
        ),
        ...chunks('[DONE]'),
      ]),
    ).not.toEqual([])
  })
})
