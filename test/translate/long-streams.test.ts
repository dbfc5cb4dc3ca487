import { expect, it } from 'vitest'
import type { Dialect } from '../../src/gateway/dialects/dialect.ts'
import type { Json } from '../../src/gateway/dialects/json/read-json.ts'
import type { SseEvent } from '../../src/gateway/dialects/sse/decode.ts'
import { DIALECT_NAMES } from '../../src/kernel/dialect.ts'
import { cpuSecondsOf } from '../support/cpu-seconds.ts'
import { heapUsed } from '../support/garbage.ts'
import { pair, PAIRS, RING } from './pairs.ts'

/** A model that writes a large file sends this many deltas. */
const DELTAS = Array.from({ length: 20_000 }, (_, at) => `word ${at} `)

const chunk = (delta: Json): SseEvent => ({ event: null, data: JSON.stringify({ choices: [{ index: 0, delta }] }) })
const event = (type: string, members: Json): SseEvent => ({ event: type, data: JSON.stringify({ type, ...members }) })

/** The deltas of a text, as a backend of each dialect sends them. */
const TEXTS: Readonly<Record<Dialect, (text: string) => SseEvent>> = {
  chat: (text) => chunk({ content: text }),
  responses: (delta) => event('response.output_text.delta', { output_index: 0, content_index: 0, delta }),
  messages: (text) => event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }),
}

/** What comes before the deltas. */
const BEGINNINGS: Readonly<Record<Dialect, readonly SseEvent[]>> = {
  chat: [],
  responses: [event('response.created', { response: {} })],
  messages: [
    event('message_start', { message: {} }),
    event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
  ],
}

const STOP: Readonly<Record<Dialect, Json>> = {
  chat: { stop: ['no such text'] },
  responses: {},
  messages: { stop_sequences: ['no such text'] },
}

it.each(RING)('a long text is translated in seconds, from $backend to $client', async ({ client, backend }) => {
  const stream = pair(client, backend, { stream: true, ...STOP[client] }).answer.stream()
  const seconds = await cpuSecondsOf(() => {
    for (const one of BEGINNINGS[backend]) stream.push(one)
    for (const text of DELTAS) stream.push(TEXTS[backend](text))
  })
  expect(seconds).toBeLessThan(1)
})

it.each(DIALECT_NAMES.filter((client) => client !== 'chat'))(
  'a long text behind a call without an end is translated in seconds, for %s',
  async (client) => {
    const stream = pair(client, 'chat', { stream: true }).answer.stream()
    stream.push(chunk({ tool_calls: [{ index: 0, id: 'call_1', function: { name: 'f', arguments: '{' } }] }))
    const seconds = await cpuSecondsOf(() => {
      for (const text of DELTAS) stream.push(TEXTS.chat(text))
    })
    expect(seconds).toBeLessThan(1)
  },
)

it('an answer that has not come yet keeps nothing of its request', async () => {
  const before = await heapUsed()
  const conversation = () => Array.from({ length: 10_000 }, (_, at) => ({ role: 'user', content: `message ${at}` }))
  const answers = PAIRS.map(({ client, backend }) => {
    const member = client === 'responses' ? 'input' : 'messages'
    return pair(client, backend, { stream: true, [member]: conversation() }).answer
  })
  const kept = (await heapUsed()) - before
  // Each conversation takes several megabytes.
  expect(kept).toBeLessThan(1_000_000)
  expect(answers.flatMap((answer) => answer.stream().end())).not.toEqual([])
})
