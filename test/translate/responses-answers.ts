import { expect } from 'vitest'
import { readList, readObject } from '../../src/gateway/dialects/json/read-json.ts'
import type { Json } from '../../src/gateway/dialects/json/read-json.ts'
import type { SseEvent } from '../../src/gateway/dialects/sse/decode.ts'
import { checkResponsesStream } from '../support/stream-grammar.ts'
import { chunks, finalResponse, responsesCall, run, toResponses } from './streams.ts'

const CALL: Json = {
  tools: [
    { type: 'custom', name: 'apply_patch' },
    {
      type: 'namespace',
      name: 'mcp__files',
      tools: [
        { type: 'custom', name: 'write' },
        { type: 'function', name: 'read' },
      ],
    },
  ],
}

/** The events for these chunks and `[DONE]`, none of which may break the grammar. */
export function stream(...bodies: unknown[]): SseEvent[] {
  const events = run(toResponses(CALL), ...chunks(...bodies, '[DONE]'))
  expect(checkResponsesStream(events)).toEqual([])
  return events
}

export const types = (events: SseEvent[]): string[] => events.map(({ event }) => String(event).replace('response.', ''))
export const output = (events: SseEvent[]): Json[] => readList(finalResponse(events).output).map(readObject)
export const json = (body: unknown) => responsesCall(CALL).answer.whole(body)
