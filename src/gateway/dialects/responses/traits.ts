import { isObject } from '../../../kernel/json.ts'
import { isResponse } from '../answer-shapes.ts'
import type { DialectTraits, NativeProbe, TokenCount, WrittenMetadata } from '../dialect.ts'
import { isGiven, parseObject, readCount, readObject } from '../json/read-json.ts'
import type { Json } from '../json/read-json.ts'
import { hasErrorMessage } from '../failures/error-body.ts'
import { makeErrorReader } from '../failures/error-event.ts'
import { openAiErrorAnswer, openAiFailureAnswer } from '../failures/openai-error.ts'
import { judgeLaterAnswer } from '../later-answer.ts'
import { RESPONSES_REFUSED_PARTS } from '../refused-parts.ts'
import { makeSseDecoder } from '../sse/decode.ts'
import { KEEP_ALIVE_COMMENT } from '../sse/encode.ts'
import { endsWithFailure, makeStreamMonitor } from '../passing/stream-monitor.ts'
import { toAcceptedRequest } from './accepted-request.ts'
import { hasCompaction } from './compaction.ts'
import { monitorResponse } from './monitor.ts'
import { passResponsesStream } from './pass-stream.ts'
import { hasVendorTools } from './read-tools.ts'
import { withoutUnsignedContent } from './unsigned-content.ts'

/** The vendor's minimum for `max_output_tokens`. */
const PROBE_OUTPUT_TOKENS = 16

/** Requests a stream that its token limit cuts off, because there most engines differ from the dialect. */
const NATIVE_PROBE: NativeProbe = {
  body: { max_output_tokens: PROBE_OUTPUT_TOKENS, input: 'Count from one to one hundred in words.', stream: true },
  impossible: { previous_response_id: 'resp_00000000000000000000000000000000' },
  isAnswer: (text) => isResponseStream(text, PROBE_OUTPUT_TOKENS),
  ifIgnored: 'stateless',
}

/** `POST /responses/input_tokens` of the vendor, which llama.cpp's server has too. */
const TOKEN_COUNT: TokenCount = {
  path: '/responses/input_tokens',
  members: ['model', 'input', 'instructions', 'tools', 'tool_choice', 'parallel_tool_calls', 'reasoning', 'text'],
}

const readErrorEvent = makeErrorReader(['response.failed'])
const endsFailed = endsWithFailure(readErrorEvent)

/** OpenAI Responses. */
export const RESPONSES: DialectTraits = {
  path: '/responses',
  tokenLimits: ['max_output_tokens'],
  answerCounts: [],
  monitorStream: (options) => makeStreamMonitor(monitorResponse(endsFailed), options),
  // Codex takes a broken connection for the cause of the failure, and repeats the call.
  failureEndsStream: true,
  passStream: passResponsesStream,
  streamUsage: null,
  keepAlive: () => KEEP_ALIVE_COMMENT,
  errorAnswer: openAiErrorAnswer,
  failureAnswer: openAiFailureAnswer,
  isErrorBody: hasErrorMessage,
  readErrorEvent,
  isPreamble: ({ event }) => event !== null && PREAMBLE.has(event),
  nativeProbe: NATIVE_PROBE,
  judgeRequest: (body) => judgeLaterAnswer(body, 'background'),
  needsStoredState: ({ previous_response_id: previous, conversation }) => isGiven(previous) || isGiven(conversation),
  needsVendor: (body) => hasCompaction(body) || hasVendorTools(body),
  tokenCount: TOKEN_COUNT,
  refusedParts: RESPONSES_REFUSED_PARTS,
  withoutUnsignedContent,
  toAcceptedRequest,
  readMetadata,
}

/** The vendor sends these at once, also when it then refuses the request. */
const PREAMBLE: ReadonlySet<string> = new Set(['response.created', 'response.in_progress', 'response.queued'])

function readMetadata(answer: Json): WrittenMetadata {
  const response = isObject(answer.response) ? answer.response : answer
  const { model, status, incomplete_details: details, service_tier: serviceTier } = response
  const isOver = typeof status === 'string' && FINAL_STATUSES.has(status)
  return { model, serviceTier, finishReasons: isOver ? [readObject(details).reason ?? status] : [] }
}

const FINAL_STATUSES: ReadonlySet<string> = new Set(['completed', 'incomplete', 'failed', 'cancelled'])

/**
 * Whether clients can read this responses stream. Every event must have a sequence number, and every event of an item
 * an output index. The last event must have the response, which must not be `completed` when it used up its token
 * limit. Some servers send events with the right names but without these members, and clients fail to read them.
 */
export function isResponseStream(stream: string, maxOutputTokens: number): boolean {
  const events = makeSseDecoder()
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
