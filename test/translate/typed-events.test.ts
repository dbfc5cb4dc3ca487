import { expect, it } from 'vitest'
import { readTypedEvent } from '../../src/gateway/dialects/sse/typed-event.ts'
import type { SseEvent } from '../../src/gateway/dialects/sse/decode.ts'

it.each<[string, SseEvent, ReturnType<typeof readTypedEvent>]>([
  ['has the type of its data', { event: 'ping', data: '{"type":"message_stop"}' }, { type: 'message_stop' }],
  ['has its name as its type', { event: 'ping', data: '{"index":1}' }, { type: 'ping', index: 1 }],
  ['may have neither', { event: null, data: '{"index":1}' }, { index: 1 }],
  [
    'is an error by its name, whatever the type of its data',
    { event: 'error', data: '{"type":"overloaded_error","message":"x"}' },
    { type: 'error', error: { type: 'overloaded_error', message: 'x' } },
  ],
  [
    'is an error by its name, with the error in a member',
    { event: 'error', data: '{"error":{"message":"x"}}' },
    { type: 'error', error: { message: 'x' } },
  ],
  [
    'is an error by the type of its data',
    { event: 'error', data: '{"type":"error","error":{}}' },
    { type: 'error', error: {} },
  ],
  ['is the end', { event: null, data: ' [DONE] ' }, null],
  ['has no data', { event: 'ping', data: '' }, null],
  ['is no JSON', { event: 'ping', data: 'pong' }, 'not_json'],
])('an event of a stream with typed events %s', (_name, event, expected) => {
  expect(readTypedEvent(event)).toEqual(expected)
})
