import { expect } from 'vitest'
import { readObject } from '../../src/gateway/dialects/json/read-json.ts'
import type { Json } from '../../src/gateway/dialects/json/read-json.ts'
import type { SseEvent } from '../../src/gateway/dialects/sse/decode.ts'
import { checkMessagesStream } from '../support/stream-grammar.ts'
import { chunks, foldMessage, messagesCall, parsed, run, toMessages } from './streams.ts'

/** The events for these chunks and `[DONE]`, none of which may break the grammar. */
export function stream(...bodies: unknown[]): SseEvent[] {
  const events = run(toMessages(['END']), ...chunks(...bodies, '[DONE]'))
  expect(checkMessagesStream(events)).toEqual([])
  return events
}

export const fold = (...bodies: unknown[]): Json & { content: Json[] } => foldMessage(stream(...bodies))
export const types = (events: SseEvent[]): string[] =>
  parsed(events).map((event) =>
    [event.type, readObject(event.content_block).type ?? readObject(event.delta).type].filter(Boolean).join(' '),
  )
export const calls = (message: { content: Json[] }): unknown[] =>
  message.content.filter(({ type }) => type === 'tool_use').map(({ name, input }) => [name, input])
export const json = (body: unknown) => messagesCall(['END']).answer.whole(body)
export const completion = (message: unknown, finish = 'stop', more: Json = {}): Json => ({
  choices: [{ index: 0, message, finish_reason: finish, ...more }],
})
