import type { DialectTraits, StreamFailure } from '../dialect.ts'
import { hasErrorMessage } from '../failures/error-body.ts'
import { makeErrorReader } from '../failures/error-event.ts'
import { readList, readObject } from '../json/read-json.ts'
import { openAiErrorAnswer, openAiFailureAnswer } from '../failures/openai-error.ts'
import { judgeLaterAnswer } from '../later-answer.ts'
import { CHAT_REFUSED_PARTS } from '../refused-parts.ts'
import { encodeEvent, KEEP_ALIVE_COMMENT } from '../sse/encode.ts'
import { endsLike, endsWithFailure, makeStreamMonitor } from '../passing/stream-monitor.ts'
import { toAcceptedRequest } from './accepted-request.ts'
import { isPreamble } from './chunk.ts'
import { passChatStream } from './pass-stream.ts'
import { CHAT_STREAM_USAGE } from './stream-usage.ts'
import { withoutUnsignedContent } from './unsigned-content.ts'

const readErrorEvent = makeErrorReader()

/** Chat completions, the dialect that every engine supports. */
export const CHAT: DialectTraits = {
  path: '/chat/completions',
  // `n_predict` is llama.cpp's name for it.
  tokenLimits: ['max_tokens', 'max_completion_tokens', 'n_predict'],
  // `best_of` is vLLM's: it generates that many answers and returns `n` of them.
  answerCounts: ['n', 'best_of'],
  monitorStream: (options) => makeStreamMonitor(MONITORED, options),
  failureEndsStream: false,
  passStream: passChatStream,
  streamUsage: CHAT_STREAM_USAGE,
  keepAlive: () => KEEP_ALIVE_COMMENT,
  errorAnswer: openAiErrorAnswer,
  failureAnswer: openAiFailureAnswer,
  isErrorBody: hasErrorMessage,
  readErrorEvent,
  isPreamble,
  nativeProbe: null,
  // xAI's name for it.
  judgeRequest: (body) => judgeLaterAnswer(body, 'deferred'),
  needsStoredState: () => false,
  needsVendor: () => false,
  tokenCount: null,
  refusedParts: CHAT_REFUSED_PARTS,
  withoutUnsignedContent,
  toAcceptedRequest,
  readMetadata: ({ model, choices, service_tier: serviceTier }) => ({
    model,
    serviceTier,
    finishReasons: readList(choices).map((choice) => readObject(choice).finish_reason),
  }),
}

const MONITORED = {
  endings: [Buffer.from('[DONE]')],
  endsStream: endsLike(/data: ?\[DONE\]\s*$/),
  endsFailed: endsWithFailure(readErrorEvent),
  failureEvent,
}

function failureEvent({ message, type, code }: StreamFailure): string {
  return encodeEvent({ event: null, data: JSON.stringify({ error: { message, type, code, param: null } }) })
}
