import { isResponse } from '../answer-shapes.ts'
import type { DialectTraits, NativeProbe } from '../dialect.ts'
import { isObject, type Json, parseObject, readCount, readObject } from '../json/read-json.ts'
import { hasLocalReasoning, withoutLocalReasoning } from '../local-reasoning.ts'
import { errorAnswer, failureAnswer, isErrorBody } from '../openai-error.ts'
import { sseDecoder } from '../sse/decode.ts'
import { KEEP_ALIVE_COMMENT } from '../sse/encode.ts'
import { makeStreamMonitor } from '../stream-monitor.ts'
import { monitorResponse } from './monitor.ts'
import { passResponsesStream } from './pass-stream.ts'

/** The smallest limit that the vendor allows. */
const FEW_TOKENS = 16

/** A stream that is cut off by its limit, because that is where engines stray from the dialect. */
const NATIVE_PROBE: NativeProbe = {
  path: '/v1/responses',
  body: { max_output_tokens: FEW_TOKENS, input: 'Count from one to one hundred in words.', stream: true },
  impossible: { previous_response_id: 'resp_00000000000000000000000000000000' },
  isAnswer: (text) => isResponseStream(text, FEW_TOKENS),
  ignoring: 'stateless',
}

/** OpenAI Responses. */
export const RESPONSES: DialectTraits = {
  path: '/v1/responses',
  tokenLimits: ['max_output_tokens'],
  monitorStream: (options) => makeStreamMonitor(monitorResponse(), options),
  passStream: passResponsesStream,
  keepAlive: () => KEEP_ALIVE_COMMENT,
  errorAnswer,
  failureAnswer,
  isErrorBody,
  nativeProbe: NATIVE_PROBE,
  needsStoredState: ({ previous_response_id: previous, conversation }) => isThere(previous) || isThere(conversation),
  hasLocalReasoning,
  withoutLocalReasoning,
}

function isThere(value: unknown): boolean {
  return value !== undefined && value !== null
}

/**
 * Whether this is a stream of responses that clients can put together: every event has its number, what belongs to an
 * item has the item's place, and the end holds the response and does not call an answer completed that used up its
 * limit. Other servers send events of the same names, and clients fail at them.
 */
export function isResponseStream(stream: string, maxOutputTokens: number): boolean {
  const events = sseDecoder()
    .push(Buffer.from(stream))
    .map(({ data }) => parseObject(data))
    .filter((body) => body !== null)
  const { type, response } = readObject(events.at(-1))
  const hasEnded = type === 'response.completed' || type === 'response.incomplete'
  if (!hasEnded || !isObject(response) || !isResponse(response)) return false
  const isCut = (readCount(readObject(response.usage).output_tokens) ?? 0) >= maxOutputTokens
  return events.every(isPlaced) && !(isCut && response.status === 'completed')
}

function isPlaced({ sequence_number: number, output_index: place, item, item_id: itemId }: Json): boolean {
  const isOfItem = item !== undefined || itemId !== undefined
  return readCount(number) !== null && (!isOfItem || readCount(place) !== null)
}
