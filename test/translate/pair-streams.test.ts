import { describe, expect, it } from 'vitest'
import type { Dialect } from '../../src/gateway/dialects/dialect.ts'
import { backendFailed } from '../../src/gateway/dialects/failures/failure.ts'
import { parseObject, readList, readObject, readText } from '../../src/gateway/dialects/json/read-json.ts'
import type { Json } from '../../src/gateway/dialects/json/read-json.ts'
import { encodeEvent } from '../../src/gateway/dialects/sse/encode.ts'
import { CHECKS } from '../support/stream-grammar.ts'
import { pair, PAIRS } from './pairs.ts'
import {
  ALL_FIXTURES,
  cutEverywhere,
  decode,
  fixture,
  FIXTURES,
  finalResponse,
  foldMessage,
  parsed,
  run,
  translate,
} from './streams.ts'

/**
 * What a vendor of each dialect would stream: the chat fixtures as they are, and translated into the other dialects,
 * where the grammar checker has passed them.
 */
function vendorStream(dialect: Dialect, name: string): Buffer {
  if (dialect === 'chat') return fixture(name)
  const events = translate(pair(dialect, 'chat', { stream: true }).answer.stream(), fixture(name))
  return Buffer.from(events.map(encodeEvent).join(''))
}

describe.each(PAIRS)('a $client client of a $backend backend', ({ client, backend }) => {
  const stream = () => pair(client, backend, { stream: true }).answer.stream()

  it.each(ALL_FIXTURES)('gets a stream that keeps the grammar of its dialect: %s', (name) => {
    expect(CHECKS[client](translate(stream(), vendorStream(backend, name)))).toEqual([])
  })

  it.each(ALL_FIXTURES)('gets the same stream however it is cut: %s', (name) => {
    const bytes = vendorStream(backend, name)
    const written = (...chunks: Uint8Array[]): string =>
      translate(stream(), ...chunks)
        .map(encodeEvent)
        .join('')
    const whole = written(bytes)
    for (const chunks of cutEverywhere(bytes)) expect(written(...chunks)).toBe(whole)
  })

  it.each(ALL_FIXTURES)('sees a failure, and no complete answer, wherever the connection breaks: %s', (name) => {
    const sent = decode(vendorStream(backend, name))
    // A break inside of an event is one behind the event before.
    for (let count = 0; count <= sent.length; count += 1) {
      const broken = stream()
      const begun = sent.slice(0, count)
      const events = run({ ...broken, end: () => broken.fail(backendFailed('It broke.')) }, ...begun)
      expect(CHECKS[client](events)).toEqual([])
      if (broken.state() === 'ended') expect(begun.map(encodeEvent).join('')).toMatch(ENDINGS[backend])
    }
  })

  it.each(FIXTURES.broken)('sees the failure of the backend: %s', (name) => {
    const failed = stream()
    translate(failed, vendorStream(backend, name))
    expect(failed.state()).toBe('failed')
  })

  it.each(FIXTURES.whole)('gets what the backend said: %s', (name) => {
    const said = summary(client, translate(stream(), vendorStream(backend, name)))
    const direct =
      client === 'chat'
        ? summary('messages', translateChat('messages', name))
        : summary(client, translateChat(client, name))
    expect(said).toEqual(direct)
  })
})

const ENDINGS: Readonly<Record<Dialect, RegExp>> = {
  chat: /\[DONE\]/,
  responses: /response\.(completed|incomplete)/,
  messages: /message_stop/,
}

function translateChat(client: Dialect, name: string) {
  return translate(pair(client, 'chat', { stream: true }).answer.stream(), fixture(name))
}

/** Texts, reasoning and calls, in the order of each kind. */
function summary(dialect: Dialect, events: ReturnType<typeof translateChat>): Json {
  if (dialect === 'messages') {
    const blocks = foldMessage(events).content
    const of = (type: string, member: string) =>
      blocks.filter((block) => block.type === type).map((block) => block[member])
    return {
      text: of('text', 'text').join(''),
      reasoning: of('thinking', 'thinking').join(''),
      calls: blocks.filter(({ type }) => type === 'tool_use').map(({ name, input }) => [name, input]),
    }
  }
  if (dialect === 'responses') {
    const items = readList(finalResponse(events).output).map(readObject)
    const texts = (type: string, list: string) =>
      items
        .filter((item) => item.type === type)
        .flatMap((item) => readList(item[list]).map((part) => readObject(part).text))
        .join('')
    return {
      text: texts('message', 'content'),
      reasoning: texts('reasoning', 'summary'),
      calls: items
        .filter(({ type }) => type === 'function_call')
        .map(({ name, arguments: args }) => [name, parseObject(String(args)) ?? args]),
    }
  }
  const deltas = parsed(events).map((chunk) => readObject(readObject(readList(chunk.choices)[0]).delta))
  const join = (member: string) => deltas.map((delta) => readText(delta[member])).join('')
  const calls: { name: unknown; args: string }[] = []
  for (const call of deltas.flatMap((delta) => readList(delta.tool_calls).map(readObject))) {
    const { name, arguments: args } = readObject(call.function)
    if (name !== undefined) calls.push({ name, args: '' })
    const last = calls.at(-1)
    if (last) last.args += readText(args)
  }
  return {
    text: join('content'),
    reasoning: join('reasoning_content'),
    calls: calls.map(({ name, args }) => [name, parseObject(args) ?? args]),
  }
}
