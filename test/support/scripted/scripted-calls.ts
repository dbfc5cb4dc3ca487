/**
 * Calls whose usage is known beforehand, in three dialects to backends of three dialects. All of a call follows from
 * its number, which its text contains, so that a backend knows what to answer.
 */
import { DIALECT_NAMES } from '../../../src/kernel/dialect.ts'
import type { Dialect } from '../../../src/gateway/dialects/dialect.ts'
import { SERVER_PATHS } from '../dialect-servers.ts'
import type { SeenCall, Script } from '../upstream.ts'
import { answersJson, neverAnswers, streams, writesRaw } from '../upstream.ts'
import { toErrorEvent, toScriptedAnswer, writeUsage } from './scripted-answers.ts'

/**
 * How the answer ends. `broken`: the backend breaks off a stream. `left`: the caller leaves a stream. `half`: the
 * backend breaks off a whole answer. `silent`: the caller leaves before any answer. `refused`: status 400. Two shapes
 * are there twice, because most calls end well.
 */
const SHAPES = ['whole', 'streamed', 'broken', 'whole', 'streamed', 'left', 'half', 'silent', 'refused'] as const
const CACHES = ['none', 'read', 'written', 'written_long', 'all'] as const
/** What the first backend answers. `direct`: it serves the call. The others send the call to the next backend. */
const STARTS = ['direct', 'busy', 'counted', 'error_event'] as const

/** Calls whose numbers differ by this have the same form, with other numbers of tokens. */
export const FORMS = DIALECT_NAMES.length ** 2 * SHAPES.length * CACHES.length * STARTS.length
/** Has no common factor with `FORMS`, so that some hundred consecutive calls are a sample of all forms. */
const STRIDE = 197

/** Tokens in classes that do not overlap, but for the reasoning, which is a part of the output. */
export type Tokens = Readonly<
  Record<'input' | 'cacheRead' | 'cacheWrite' | 'cacheWriteLong' | 'output' | 'reasoning', number>
>

export type ScriptedCall = {
  readonly number: number
  /** The dialect of the client. */
  readonly dialect: Dialect
  readonly model: string
  readonly path: string
  readonly body: object
  readonly wantsStream: boolean
  readonly shape: (typeof SHAPES)[number]
  readonly start: (typeof STARTS)[number]
  /** What a whole answer reports. */
  readonly tokens: Tokens
}

/** What one answer of a backend adds to the usage. */
export type SheetLine = {
  readonly call: ScriptedCall
  readonly backend: string
  readonly kind: 'finished' | 'failed' | 'retried'
  /** Null: the backend has reported none. */
  readonly tokens: Tokens | null
  readonly isEstimated: boolean
  readonly isUnknown: boolean
}

/** In USD for a million tokens. A token costs fractions of 10^-9 USD, so that each cost is rounded. */
export const PRICE = {
  input: 0.0375,
  output: 0.3001,
  cacheRead: 0.003_75,
  cacheWrite: 0.046_875,
  cacheWriteLong: 0.075,
  reasoning: 0.3502,
}

/** The session of a call, by which its events are found. */
export const sessionOf = (number: number) => `scripted-${number}`
const backendOf = (dialect: Dialect) => `${dialect}-server`

/** The entries of a directory file for the backends and the models of scripted calls. */
export function toScriptedEntries(urls: Readonly<Record<Dialect, URL>>): { backends: object[]; models: object[] } {
  const backends = DIALECT_NAMES.map((dialect) => ({
    name: backendOf(dialect),
    dialects: [dialect],
    url: urls[dialect].origin,
  }))
  const models = DIALECT_NAMES.flatMap((dialect, at) => {
    const serve = [dialect, DIALECT_NAMES[(at + 1) % DIALECT_NAMES.length] ?? dialect].map((one) => ({
      backend: backendOf(one),
      model: 'm',
    }))
    const model = { owner: 'any', price: PRICE }
    return [
      { ...model, id: `direct/${dialect}`, displayName: `Direct ${dialect}`, serve: serve.slice(0, 1) },
      { ...model, id: `planned/${dialect}`, displayName: `Planned ${dialect}`, serve },
    ]
  })
  return { backends, models }
}

/** The team whose members make scripted calls. */
export const SCRIPTED_TEAM = '@acme/scripted'

export const SCRIPTED_MODELS = DIALECT_NAMES.flatMap((dialect) => [`direct/${dialect}`, `planned/${dialect}`])

/** The call with this number. */
export function scriptCall(number: number): ScriptedCall {
  let rest = (number * STRIDE) % FORMS
  const pick = <T>(choices: readonly [T, ...T[]]): T => {
    const picked = choices[rest % choices.length] ?? choices[0]
    rest = Math.floor(rest / choices.length)
    return picked
  }
  const [dialect, backend] = [pick(DIALECT_NAMES), pick(DIALECT_NAMES)]
  const [shape, cache, start] = [pick(SHAPES), pick(CACHES), pick(STARTS)]
  const model = `${start === 'direct' ? 'direct' : 'planned'}/${backend}`
  const wantsStream = shape === 'streamed' || shape === 'broken' || shape === 'left'
  const turns = [{ role: 'user', content: `scripted call ${number}.` }]
  const asked = dialect === 'responses' ? { input: turns, store: false } : { messages: turns, max_tokens: 900 }
  const body = { model, stream: wantsStream, ...asked }
  return {
    number,
    dialect,
    model,
    path: SERVER_PATHS[dialect],
    body,
    wantsStream,
    shape,
    start,
    tokens: toTokens(number, cache),
  }
}

/** Numbers that differ from call to call, so that no mistake is balanced by another one. */
function toTokens(number: number, cache: (typeof CACHES)[number]): Tokens {
  const has = (one: typeof cache, count: number) => (cache === one || cache === 'all' ? count : 0)
  return {
    input: 101 + (number % 907),
    cacheRead: has('read', 2003 + 3 * number),
    cacheWrite: has('written', 307 + (number % 89)),
    cacheWriteLong: has('written_long', 211 + (number % 97)),
    output: 17 + (number % 61),
    reasoning: number % 5,
  }
}

/**
 * Makes the script of the backend of each dialect. `onLine` is called before each answer with what that adds to the
 * usage, and `onSilence` with the number of a call that gets no answer.
 */
export function makeScriptedBackends(
  onLine: (line: SheetLine) => void,
  onSilence: (number: number) => void,
): Readonly<Record<Dialect, Script>> {
  const begun = new Set<number>()
  const scriptOf =
    (dialect: Dialect): Script =>
    (seen) => {
      const call = scriptCall(readNumber(seen))
      const isFailing = call.start !== 'direct' && !begun.has(call.number)
      begun.add(call.number)
      const line = isFailing ? toFirstLine(call, dialect) : toLastLine(call, dialect)
      if (line) onLine(line)
      if (!isFailing && call.shape === 'silent') onSilence(call.number)
      return (isFailing ? failFirst : answer)(call, dialect)(seen)
    }
  return { chat: scriptOf('chat'), responses: scriptOf('responses'), messages: scriptOf('messages') }
}

function readNumber({ body }: SeenCall): number {
  return Number(/scripted call (\d+)\./.exec(body.toString())?.[1])
}

/** The first backend fails so that the next one is asked. */
function failFirst(call: ScriptedCall, dialect: Dialect): Script {
  const usage = writeUsage(dialect, toFirstTokens(call))
  if (beginsWithError(call)) return streams([toErrorEvent(dialect, usage)])
  const error = { message: 'Overloaded.', type: 'overloaded_error', code: 'overloaded' }
  if (call.start !== 'counted') return answersJson({ type: 'error', error }, { status: 529 })
  return answersJson({ type: 'error', error, usage }, { status: 503 })
}

function beginsWithError({ start, wantsStream }: ScriptedCall): boolean {
  return start === 'error_event' && wantsStream
}

function toFirstTokens({ tokens }: ScriptedCall): Tokens {
  return { ...tokens, output: 0, reasoning: 0 }
}

/** What the answer of the first of two backends adds. Null: nothing. */
function toFirstLine(call: ScriptedCall, dialect: Dialect): SheetLine | null {
  const isCounted = call.start === 'counted' || (beginsWithError(call) && dialect === 'responses')
  const line = { call, backend: backendOf(dialect), isEstimated: false, isUnknown: false }
  const tokens = isCounted ? toFirstTokens(call) : null
  if (endsWithFirst(call)) return { ...line, kind: 'failed', tokens }
  return tokens && { ...line, kind: 'retried', tokens }
}

/** The caller gets the error of the first backend, because the second one broke off before anything was sent. */
function endsWithFirst({ start, shape }: ScriptedCall): boolean {
  return start !== 'direct' && shape === 'half'
}

function answer(call: ScriptedCall, dialect: Dialect): Script {
  const { whole, begin, rest } = toScriptedAnswer(dialect, call)
  const text = JSON.stringify(whole)
  const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n`
  const tooLong = { type: 'error', error: { message: 'Too long.', type: 'invalid_request_error' } }
  const scripts: Readonly<Record<ScriptedCall['shape'], Script>> = {
    whole: answersJson(whole),
    streamed: streams([begin, rest]),
    broken: streams([begin], { end: 'breaks' }),
    left: streams([begin], { end: 'stalls' }),
    half: writesRaw(head + text.slice(0, -1)),
    silent: neverAnswers,
    refused: answersJson(tooLong, { status: 400 }),
  }
  return scripts[call.shape]
}

/** What the answer of the last backend adds. */
function toLastLine(call: ScriptedCall, dialect: Dialect): SheetLine {
  const { shape, tokens } = call
  const isComplete = shape === 'whole' || shape === 'streamed'
  const isCut = shape === 'broken' || shape === 'left'
  const { begun } = toScriptedAnswer(dialect, call)
  const reported = isComplete ? tokens : isCut ? begun : null
  return {
    call,
    backend: backendOf(dialect),
    kind: isComplete ? 'finished' : endsWithFirst(call) ? 'retried' : 'failed',
    tokens: reported,
    isEstimated: isCut && reported !== null,
    isUnknown: reported === null && shape !== 'refused',
  }
}
