import { expect, it } from 'vitest'
import type { Dialect } from '../../src/gateway/dialects/dialect.ts'
import { DIALECTS } from '../../src/gateway/dialects/dialects.ts'
import { scanMetadata } from '../../src/gateway/dialects/passing/metadata-scanner.ts'
import { byteByByte } from '../support/upstream.ts'

const stream = (...events: readonly object[]) => events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')

const RESPONSE = { object: 'response', model: 'm-1', output: [{ type: 'message', status: 'completed' }] }
const CHUNK = { model: 'm-1', choices: [{ delta: { content: '"finish_reason":"x"' }, finish_reason: null }] }

it.each<[string, Dialect, string, readonly [string | null, ...string[]]]>([
  ['a chat answer', 'chat', JSON.stringify({ ...CHUNK, choices: [{ finish_reason: 'length' }] }), ['m-1', 'length']],
  [
    'a chat stream of two choices',
    'chat',
    stream(CHUNK, { choices: [{ finish_reason: 'stop' }] }, { choices: [{ finish_reason: 'tool_calls' }] }),
    ['m-1', 'stop', 'tool_calls'],
  ],
  ['a message', 'messages', '{"model":"m-1","content":[],"stop_reason":"end_turn"}', ['m-1', 'end_turn']],
  [
    'a stream of a message',
    'messages',
    stream(
      { type: 'message_start', message: { model: 'm-1', stop_reason: null } },
      { type: 'message_delta', delta: { stop_reason: 'tool_use' } },
    ),
    ['m-1', 'tool_use'],
  ],
  ['a response', 'responses', JSON.stringify({ ...RESPONSE, status: 'completed' }), ['m-1', 'completed']],
  [
    'a stream of a response that is cut off',
    'responses',
    stream(
      { type: 'response.created', response: { ...RESPONSE, status: 'in_progress' } },
      { type: 'response.output_item.done', item: { type: 'message', status: 'completed' } },
      {
        type: 'response.incomplete',
        response: { ...RESPONSE, status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } },
      },
    ),
    ['m-1', 'max_output_tokens'],
  ],
  ['what is no answer', 'chat', '\u001f\u008b compressed', [null]],
  ['a text in the place of a reason', 'chat', '{"choices":[{"finish_reason":"because I say so"}]}', [null]],
])('reads the model and why it ended of %s, cut at every byte', (_, dialect, answer, [model, ...finishReasons]) => {
  const scanner = scanMetadata(DIALECTS[dialect])
  for (const byte of byteByByte(answer)) scanner.push(byte)
  expect(scanner.end()).toMatchObject({ model, finishReasons })
})

it.each<[Dialect, string]>([
  [
    'chat',
    stream({ ...CHUNK, service_tier: 'flex' }, { choices: [{ finish_reason: 'stop' }], service_tier: 'default' }),
  ],
  ['chat', JSON.stringify({ ...CHUNK, service_tier: 'default' })],
  [
    'responses',
    stream(
      { type: 'response.created', response: { ...RESPONSE, status: 'in_progress', service_tier: 'flex' } },
      { type: 'response.completed', response: { ...RESPONSE, status: 'completed', service_tier: 'default' } },
    ),
  ],
  ['messages', JSON.stringify({ model: 'm-1', usage: { speed: 'default' } })],
  [
    'messages',
    stream(
      { type: 'message_start', message: { model: 'm-1', usage: { speed: 'default' } } },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } },
    ),
  ],
])('reads the last service tier that a %s answer names: %s', (dialect, answer) => {
  const scanner = scanMetadata(DIALECTS[dialect])
  scanner.push(Buffer.from(answer))
  expect(scanner.end().serviceTier).toBe('default')
})

it('gives up on an answer that is too large', () => {
  const scanner = scanMetadata(DIALECTS.chat)
  scanner.push(Buffer.from('{"model":"m-1","choices":[{"message":{"content":"'))
  scanner.push(Buffer.alloc(2 * 1024 * 1024, 'x'))
  expect(scanner.end()).toEqual({ model: null, finishReasons: [], serviceTier: null })
})
