/**
 * Every case of translation for every pair of dialects, as a whole answer and as a stream. The golden files hold what
 * the backend gets and what the client gets. They are written anew by `vitest run -u`; review the change.
 */
import { describe, expect, it } from 'vitest'
import type { Dialect, StreamTranslator } from '../../src/gateway/dialects/dialect.ts'
import { DIALECTS } from '../../src/gateway/dialects/dialects.ts'
import { readFailure } from '../../src/gateway/dialects/failures/failure.ts'
import { readList, readObject } from '../../src/gateway/dialects/json/read-json.ts'
import type { Json } from '../../src/gateway/dialects/json/read-json.ts'
import { renameAnswer } from '../../src/gateway/dialects/passing/rename-model.ts'
import { makeSeals } from '../../src/gateway/dialects/seals.ts'
import type { SseEvent } from '../../src/gateway/dialects/sse/decode.ts'
import { encodeEvent } from '../../src/gateway/dialects/sse/encode.ts'
import { DIALECT_NAMES } from '../../src/kernel/dialect.ts'
import { CHECKS } from '../support/stream-grammar.ts'
import { CASES, ERRORS, THINKS } from './matrix-cases.ts'
import type { Case } from './matrix-cases.ts'
import { pair, withoutUnsigned } from './pairs.ts'
import { countingIds, cutEverywhere, translate } from './streams.ts'
import { VENDOR_CAPS } from './vendor-caps.ts'
import { toErrorEvent, toVendorStream } from './vendor-streams.ts'

const HEADS: Readonly<Record<Dialect, Json>> = {
  chat: { id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'model-1' },
  responses: { id: 'resp_1', object: 'response', created_at: 1, model: 'model-1', error: null, tools: [] },
  messages: {
    ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'model-1', stop_sequence: null },
    usage: { input_tokens: 40, cache_read_input_tokens: 60, cache_creation_input_tokens: 0, output_tokens: 9 },
  },
}
const LIMITS = { chat: {}, responses: {}, messages: { max_tokens: 4096 } }

const seals = makeSeals({ backend: 'b1', model: 'model-1', team: 't1', keys: [Buffer.from('key')] })
const bytesOf = (events: readonly SseEvent[]) => Buffer.from(events.map(encodeEvent).join(''))
const textOf = (events: readonly SseEvent[]) => events.map(encodeEvent).join('')

type Pair = { readonly client: Dialect; readonly backend: Dialect }
const ALL_PAIRS: readonly Pair[] = DIALECT_NAMES.flatMap((client) =>
  DIALECT_NAMES.map((backend) => ({ client, backend })),
)

function requestOf(client: Dialect, { requests }: Case, stream: boolean): Json {
  return { model: 'svc/fast', ...LIMITS[client], ...requests[client], stream }
}

function answerOf(backend: Dialect, { answers }: Pick<Case, 'answers'>): Json {
  return { ...HEADS[backend], ...answers[backend] }
}

/** A failing backend says its error after the first piece of text. */
function backendEvents(backend: Dialect, given: Case): SseEvent[] {
  const events = toVendorStream(backend, answerOf(backend, given))
  if (!given.fails) return events
  const first = events.findIndex(({ data }) => data.includes('"Yes, I"'))
  const begun = events.slice(0, first + 1)
  return [...begun, toErrorEvent(backend, ERRORS[backend].body, begun.length)]
}

/** The translation of a call; a call in the backend's own dialect passes. */
function translationOf({ client, backend }: Pair, given: Case, isStreamed: boolean) {
  const body = requestOf(client, given, isStreamed)
  if (client !== backend) return pair(client, backend, body, { caps: VENDOR_CAPS[backend], seals })
  const { passStream } = DIALECTS[client]
  const bytes = Buffer.from(JSON.stringify(body))
  return {
    request: JSON.parse(withoutUnsigned(client, bytes).toString()) as Json,
    answer: {
      stream: () => passStream({ model: 'svc/fast' }),
      whole(answer: unknown) {
        const renamed = renameAnswer(Buffer.from(JSON.stringify(answer)), 'svc/fast', () => true)
        return { answer: JSON.parse(renamed?.toString() ?? 'null') as Json }
      },
    },
  }
}

/** Made anew for each stream, because ids are counted. */
function streamOf(of: Pair, given: Case): StreamTranslator {
  return translationOf(of, given, true).answer.stream()
}

/** What the client gets as a whole answer: the answer, or the status and body of an error. */
function wholeOf(of: Pair, given: Case): Json {
  const { client, backend } = of
  const { status, body } = ERRORS[backend]
  if (given.fails)
    return client === backend ? { status, body } : { ...DIALECTS[client].failureAnswer(readFailure(body, status)) }
  const made = translationOf(of, given, false).answer.whole(answerOf(backend, given))
  if (!('answer' in made)) throw new Error(made.failed.message)
  return made.answer
}

function record(of: Pair, name: string, given: Case): string {
  const { request } = translationOf(of, given, true)
  const stream = translate(streamOf(of, given), bytesOf(backendEvents(of.backend, given)))
  const lines = [`# ${name}`, `request ${JSON.stringify(request)}`, `answer ${JSON.stringify(wholeOf(of, given))}`]
  return `${lines.join('\n')}\n${textOf(stream).trimEnd()}\n`
}

describe('the table of cases', () => {
  /** What a cell has: a whole answer or error as `JSON`, and a stream with the right end as `stream`. */
  function cell(of: Pair, given: Case): 'both' | 'JSON' | 'stream' | 'none' {
    const stream = streamOf(of, given)
    const events = translate(stream, bytesOf(backendEvents(of.backend, given)))
    const isStreamed = events.length >= 3 && stream.state() === (given.fails ? 'failed' : 'ended')
    const body = wholeOf(of, given)
    const isWhole = Object.keys(body).length > 0 && (given.fails === true) === Number(body.status) >= 400
    if (isWhole) return isStreamed ? 'both' : 'JSON'
    return isStreamed ? 'stream' : 'none'
  }

  it('has an answer and a stream in every cell, for 3 dialects of clients and 3 of backends', () => {
    const rows = Object.entries(CASES).map(([name, given]) => {
      return [name.padEnd(24), ...ALL_PAIRS.map((of) => cell(of, given))].join(' ')
    })
    expect(rows).toMatchInlineSnapshot(`
      [
        "text                     both both both both both both both both both",
        "images                   both both both both both both both both both",
        "documents                both both both both both both both both both",
        "parallel tools           both both both both both both both both both",
        "tool results with images both both both both both both both both both",
        "reasoning                both both both both both both both both both",
        "refusal                  both both both both both both both both both",
        "cut                      both both both both both both both both both",
        "error                    both both both both both both both both both",
        "cache marks              both both both both both both both both both",
      ]
    `)
  })
})

describe.each(ALL_PAIRS)('a $client client of a $backend backend', (of) => {
  const { client, backend } = of

  it('gets the recorded answers', async () => {
    const recorded = Object.entries(CASES).map(([name, given]) => record(of, name, given))
    await expect(recorded.join('\n')).toMatchFileSnapshot(`golden/matrix/${client}-to-${backend}.golden`)
  })

  it.each(Object.entries(CASES))('gets the same stream in its grammar, cut at every byte: %s', (_, given) => {
    const bytes = bytesOf(backendEvents(backend, given))
    const read = (...chunks: Uint8Array[]) => translate(streamOf(of, given), ...chunks)
    const whole = read(bytes)
    expect(CHECKS[client](whole)).toEqual([])
    for (const chunks of cutEverywhere(bytes)) expect(textOf(read(...chunks))).toBe(textOf(whole))
  })

  it.each(Object.entries(CASES))('sees a failure wherever the stream ends too early: %s', (_, given) => {
    const events = backendEvents(backend, given)
    const isLast = (event: SseEvent) => /\[DONE\]|message_stop|response\.(completed|incomplete)/.test(event.data)
    for (let count = 0; count < events.length; count += 1) {
      const begun = events.slice(0, count)
      // Some servers of the chat dialect omit `[DONE]`: the finish reason ends an answer too.
      const isFinished = begun.some((event) => isLast(event) || /"finish_reason":"/.test(event.data))
      const stream = streamOf(of, given)
      translate(stream, bytesOf(begun))
      expect([count, stream.state()]).toEqual([count, isFinished ? 'ended' : 'failed'])
    }
  })
})

/** The conversation with the answer of the last turn, and the next question. */
function continued(client: Dialect, body: Json, answer: Json): Json {
  const next = { role: 'user', content: 'And now?' }
  if (client === 'responses') return { ...body, input: [...readList(body.input), ...readList(answer.output), next] }
  const said =
    client === 'chat' ? readObject(readList(answer.choices)[0]).message : { role: 'assistant', content: answer.content }
  return { ...body, messages: [...readList(body.messages), said, next] }
}

describe.each(ALL_PAIRS.filter(({ client, backend }) => client !== backend))(
  'reasoning over three turns, of a $client client of a $backend backend',
  ({ client, backend }) => {
    const PAYLOADS = { chat: '"reasoning_content":"Hm, so it is."', responses: '"gAAA"', messages: '"EqQB"' }

    it('comes back to the backend as it wrote it', async () => {
      const ask = { role: 'user', content: 'Is it so?' }
      const include = ['reasoning.encrypted_content']
      let body: Json = client === 'responses' ? { input: [ask], include } : { ...LIMITS[client], messages: [ask] }
      const newId = countingIds()
      let request: Json = {}
      for (let turn = 0; turn < 3; turn += 1) {
        const made = pair(client, backend, body, { caps: VENDOR_CAPS[backend], seals, newId })
        request = made.request
        const whole = made.answer.whole(answerOf(backend, { answers: THINKS }))
        if (!('answer' in whole)) throw new Error(whole.failed.message)
        body = continued(client, body, whole.answer)
      }
      expect(JSON.stringify(request).split(PAYLOADS[backend])).toHaveLength(3)
      await expect(`${JSON.stringify(request, null, 2)}\n`).toMatchFileSnapshot(
        `golden/matrix/${client}-to-${backend}.third-turn.golden`,
      )
    })
  },
)
