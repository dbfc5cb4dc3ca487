/** Calls in three dialects whose usage is known beforehand, and the upstream that answers them. */
import { answersJson, streams } from './upstream.ts'
import type { Script } from './upstream.ts'

/** In USD for a million tokens, so that a token of input costs 1,000 units of 10^-9 USD. */
export const PRICE = { input: 1, output: 10, cacheRead: 0.1, cacheWrite: 1.25, cacheWriteLong: 2 }

export const KINDS = ['whole', 'streamed', 'cut', 'cached'] as const
export type ScriptedKind = (typeof KINDS)[number]

/** What a call adds to the sums of usage. */
export type Counted = Readonly<
  Record<Tokens | 'costNanoUsd' | 'failedCalls' | 'estimatedCalls' | 'unknownCalls', number>
>

type Tokens = 'inputTokens' | 'cacheReadTokens' | 'outputTokens'

export type ScriptedCall = { readonly path: string; readonly body: object; readonly counted: Counted }

type Dialect = {
  readonly path: string
  readonly body: (kind: ScriptedKind) => object
  readonly whole: (cached: number) => object
  /** The events of a stream: before the answer is cut, and the rest. */
  readonly stream: readonly [begin: string, rest: string]
  /** What the backend has reported when a stream is cut after its beginning. */
  readonly cutUsage: Readonly<Record<Tokens, number>>
}

const NOTHING = { inputTokens: 0, cacheReadTokens: 0, outputTokens: 0 }
const event = ({ type, ...data }: { readonly type?: string; readonly [name: string]: unknown }) =>
  `${type ? `event: ${type}\n` : ''}data: ${JSON.stringify({ type, ...data })}\n\n`

const chatUsage = (cached: number) => ({
  prompt_tokens: 100 + cached,
  completion_tokens: 7,
  prompt_tokens_details: { cached_tokens: cached },
})
const responsesUsage = (cached: number) => ({
  input_tokens: 100 + cached,
  input_tokens_details: { cached_tokens: cached },
  output_tokens: 7,
})
const messagesUsage = (cached: number) => ({
  input_tokens: 100,
  cache_read_input_tokens: cached,
  output_tokens: 7,
})
const response = { id: 'resp_1', object: 'response', status: 'completed', output: [] }
const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: 'end_turn' }

/** Each answer uses 100 tokens of input and 7 of output; a cached one reads 1,000 more from a cache. */
const DIALECTS: readonly Dialect[] = [
  {
    path: '/v1/chat/completions',
    body: (kind) => ({ messages: [{ role: 'user', content: kind }] }),
    whole: (cached) => ({ id: 'c', object: 'chat.completion', choices: [], usage: chatUsage(cached) }),
    stream: [
      event({ choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason: 'stop' }] }),
      `${event({ choices: [], usage: chatUsage(0) })}data: [DONE]\n\n`,
    ],
    // A chat stream reports its usage at the end only.
    cutUsage: NOTHING,
  },
  {
    path: '/v1/responses',
    body: (kind) => ({ input: kind }),
    whole: (cached) => ({ ...response, usage: responsesUsage(cached) }),
    stream: [
      event({ type: 'response.created', response: { ...response, usage: null } }),
      event({ type: 'response.completed', response: { ...response, usage: responsesUsage(0) } }),
    ],
    cutUsage: NOTHING,
  },
  {
    path: '/v1/messages',
    body: (kind) => ({ max_tokens: 9, messages: [{ role: 'user', content: kind }] }),
    whole: (cached) => ({ ...message, usage: messagesUsage(cached) }),
    stream: [
      event({ type: 'message_start', message: { ...message, usage: { ...messagesUsage(0), output_tokens: 1 } } }),
      event({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 7 } }) +
        event({ type: 'message_stop' }),
    ],
    cutUsage: { inputTokens: 100, cacheReadTokens: 0, outputTokens: 1 },
  },
]

/** One call of each kind in each dialect. */
export const SCRIPTED_CALLS: readonly ScriptedCall[] = DIALECTS.flatMap(({ path, body, cutUsage }) =>
  KINDS.map((kind) => {
    const complete = { inputTokens: 100, cacheReadTokens: kind === 'cached' ? 1000 : 0, outputTokens: 7 }
    const usage = kind === 'cut' ? cutUsage : complete
    const { inputTokens, cacheReadTokens, outputTokens } = usage
    const costNanoUsd = inputTokens * 1000 + cacheReadTokens * 100 + outputTokens * 10_000
    const isCut = kind === 'cut'
    const isUnknown = usage === NOTHING
    const calls = {
      failedCalls: Number(isCut),
      estimatedCalls: Number(isCut && !isUnknown),
      unknownCalls: Number(isUnknown),
    }
    const stream = isCut || kind === 'streamed'
    return { path, body: { ...body(kind), stream }, counted: { ...usage, costNanoUsd, ...calls } }
  }),
)

/** Answers the scripted calls. */
export const answersScripted: Script = (call) => {
  const dialect = DIALECTS.find(({ path }) => call.url === path)
  if (!dialect) throw new Error(`No scripted call has the path ${call.url}.`)
  const [begin, rest] = dialect.stream
  const text = call.body.toString()
  if (text.includes('"cut"')) return streams([begin], { end: 'breaks' })(call)
  if (text.includes('"streamed"')) return streams([begin, rest])(call)
  return answersJson(dialect.whole(text.includes('"cached"') ? 1000 : 0))(call)
}
