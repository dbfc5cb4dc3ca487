import { isMessage } from '../answer-shapes.ts'
import type { DialectTraits, NativeProbe, StreamFailure, TokenCount } from '../dialect.ts'
import { makeErrorReader } from '../failures/error-event.ts'
import { isGiven, parseObject, readObject } from '../json/read-json.ts'
import { endsLike, endsWithFailure, makeStreamMonitor } from '../passing/stream-monitor.ts'
import { MESSAGES_REFUSED_PARTS } from '../refused-parts.ts'
import { encodeEvent, KEEP_ALIVE_COMMENT } from '../sse/encode.ts'
import { toAcceptedRequest } from './accepted-request.ts'
import { hasCompaction } from './compaction.ts'
import { isMessagesErrorBody, messagesErrorAnswer, messagesFailureAnswer } from './errors.ts'
import { passMessagesStream } from './pass-stream.ts'
import { withoutUnsignedContent } from './unsigned-content.ts'

const PING = encodeEvent({ event: 'ping', data: '{"type":"ping"}' })

/** Asks for one token. Its impossible variant requires a call of a tool that is not offered. */
const NATIVE_PROBE: NativeProbe = {
  body: { max_tokens: 1, messages: [{ role: 'user', content: 'hi' }] },
  impossible: {
    tools: [{ name: 'one', description: 'A tool.', input_schema: { type: 'object', properties: {} } }],
    tool_choice: { type: 'tool', name: 'another' },
  },
  isAnswer(text) {
    const body = parseObject(text)
    return body !== null && isMessage(body)
  },
  // A translated call obeys tool_choice, so calls are translated for an engine that ignores it.
  ifIgnored: 'foreign',
}

/** `POST /v1/messages/count_tokens` of the vendor, which most engines have too. */
const TOKEN_COUNT: TokenCount = {
  path: '/messages/count_tokens',
  members: ['model', 'system', 'messages', 'tools', 'tool_choice', 'thinking', 'output_config', 'cache_control'],
}

const readErrorEvent = makeErrorReader()

/** Anthropic Messages. */
export const MESSAGES: DialectTraits = {
  path: '/messages',
  tokenLimits: ['max_tokens'],
  answerCounts: [],
  monitorStream: (options) => makeStreamMonitor(MONITORED, options),
  failureEndsStream: true,
  passStream: passMessagesStream,
  streamUsage: null,
  // The vendor sends pings while its model is silent. Before `message_start` clients do not expect them.
  keepAlive: (hasBegun) => (hasBegun ? PING : KEEP_ALIVE_COMMENT),
  errorAnswer: messagesErrorAnswer,
  failureAnswer: messagesFailureAnswer,
  isErrorBody: isMessagesErrorBody,
  readErrorEvent,
  isPreamble: ({ event }) => event === 'message_start' || event === 'ping',
  nativeProbe: NATIVE_PROBE,
  judgeRequest: () => null,
  needsStoredState: () => false,
  // Engines that do not know threads answer as if the new messages were the whole conversation.
  needsVendor: (body) => isGiven(body.thread) || hasCompaction(body),
  tokenCount: TOKEN_COUNT,
  refusedParts: MESSAGES_REFUSED_PARTS,
  withoutUnsignedContent,
  toAcceptedRequest,
  readMetadata: ({ message, delta, model, stop_reason: reason, usage }) => ({
    model: model ?? readObject(message).model,
    serviceTier: readObject(usage ?? readObject(message).usage).speed,
    finishReasons: [reason ?? readObject(delta).stop_reason],
  }),
}

const MONITORED = {
  endings: [Buffer.from('message_stop')],
  endsStream: endsLike(/"type"\s*:\s*"message_stop"[\s}]*$/),
  endsFailed: endsWithFailure(readErrorEvent),
  failureEvent,
}

function failureEvent({ type, code, message }: StreamFailure): string {
  return encodeEvent({ event: 'error', data: JSON.stringify({ type: 'error', error: { type, code, message } }) })
}
