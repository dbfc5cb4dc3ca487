import { createParser } from 'eventsource-parser'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { reasonOf } from '../../src/gateway/exchange/send.ts'
import { makeSseDecoder, SseEventTooLarge } from '../../src/gateway/dialects/sse/decode.ts'
import type { SseEvent } from '../../src/gateway/dialects/sse/decode.ts'
import { encodeEvent, KEEP_ALIVE_COMMENT } from '../../src/gateway/dialects/sse/encode.ts'
import { character } from '../support/arbitraries.ts'
import { heapUsed } from '../support/garbage.ts'
import { ALL_FIXTURES, cutEverywhere, decode, fixture } from './streams.ts'

const decodeText = (text: string): SseEvent[] => decode(Buffer.from(text))
const data = (...texts: string[]): SseEvent[] => texts.map((text) => ({ event: null, data: text }))

describe('reading an event stream', () => {
  it.each<[string, string, SseEvent[]]>([
    ['line feeds', 'data: a\n\ndata: b\n\n', data('a', 'b')],
    ['carriage returns', 'data: a\r\rdata: b\r\r', data('a', 'b')],
    ['both', 'data: a\r\n\r\ndata: b\r\n\r\n', data('a', 'b')],
    ['a mixture', 'data: a\r\n\ndata: b\n\r\n', data('a', 'b')],
    ['data without a space', 'data:a\n\n', data('a')],
    ['only the first space is a separator', 'data:  a \n\n', data(' a ')],
    ['data over several lines', 'data: a\ndata\ndata: b\n\n', data('a\n\nb')],
    ['comments', ': hello\n\n:\n\ndata: a\n: inside\n\n', data('a')],
    ['a colon in the data', 'data: {"a":"b:c"}\n\n', data('{"a":"b:c"}')],
    ['named events', 'event: ping\ndata: {}\n\n', [{ event: 'ping', data: '{}' }]],
    [
      'a name is forgotten after its event',
      'event: a\ndata: 1\n\ndata: 2\n\n',
      [{ event: 'a', data: '1' }, ...data('2')],
    ],
    ['an event without data is none', 'event: ping\n\ndata: 1\n\n', data('1')],
    ['empty data is an event', 'data:\n\n', data('')],
    ['fields of no interest', 'id: 7\nretry: 10\nDATA: no\ndata : no\ndata: a\n\n', data('a')],
    ['an event that no blank line ends is dropped', 'data: a\n\ndata: b\n', data('a')],
    ['a byte order mark', '\uFEFFdata: a\n\n', data('a')],
    ['only one byte order mark', '\uFEFF\uFEFFdata: a\n\ndata: b\n\n', data('b')],
  ])('understands %s', (_, text, expected) => {
    expect(decodeText(text)).toEqual(expected)
  })

  it('keeps a character that chunks cut in two', () => {
    const bytes = Buffer.from('data: Grüße 世界 👋🏽\n\n')
    for (let cut = 0; cut <= bytes.length; cut++) {
      expect(decode(bytes.subarray(0, cut), bytes.subarray(cut))).toEqual(data('Grüße 世界 👋🏽'))
    }
  })

  it('finds an event as soon as its blank line is there, be it a lone carriage return', () => {
    const decoder = makeSseDecoder()
    expect(decoder.push(Buffer.from('data: a\r\r'))).toEqual(data('a'))
    expect(decoder.push(Buffer.from('\ndata: b\r\n\r'))).toEqual(data('b'))
    expect(decoder.push(Buffer.from('\n'))).toEqual([])
  })

  it('gives the same events wherever the bytes are cut', () => {
    const lines = fc.constantFrom('data: a', 'data:b', 'data', 'event: x', ': c', '', 'id: 1', 'data: 世👋🏽', 'nonsense')
    const ends = fc.constantFrom('\n', '\r', '\r\n')
    const text = fc.array(fc.tuple(lines, ends), { maxLength: 30 }).map((all) => all.flat().join(''))
    fc.assert(
      fc.property(text, fc.array(fc.nat({ max: 12 }), { minLength: 1 }), (stream, sizes) => {
        const bytes = Buffer.from(stream)
        const chunks: Uint8Array[] = []
        for (let at = 0, nth = 0; at < bytes.length; nth++) {
          const size = sizes[nth % sizes.length] || 1
          chunks.push(bytes.subarray(at, at + size))
          at += size
        }
        expect(decode(...chunks)).toEqual(decode(bytes))
      }),
    )
  })

  it('agrees with another implementation of the standard', () => {
    const piece = fc.constantFrom('data', 'event', ':', ' ', '\n', '\r', '\r\n', 'a', '世', 'id', '\n\n')
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
        const text = pieces.join('')
        const theirs: SseEvent[] = []
        const parser = createParser({
          onEvent: (event) => theirs.push({ event: event.event ?? null, data: event.data }),
        })
        parser.feed(text)
        expect(decodeText(text)).toEqual(theirs)
      }),
      { numRuns: 1000 },
    )
  })

  it('gives up on an event that outgrows the limit, however it arrives', () => {
    const oneLine = makeSseDecoder(100)
    expect(() => {
      for (let n = 0; n < 20; n++) oneLine.push(Buffer.from('data: aaaaaa'))
    }).toThrow(SseEventTooLarge)
    const manyLines = makeSseDecoder(100)
    expect(() => {
      for (let n = 0; n < 20; n++) manyLines.push(Buffer.from('data: aaaaaa\n'))
    }).toThrow(SseEventTooLarge)
    const manyEvents = makeSseDecoder(100)
    for (let n = 0; n < 20; n++) manyEvents.push(Buffer.from('data: aaaaaa\n\n'))
  })

  it('names the limit in the log of a call', () => {
    expect(reasonOf(new SseEventTooLarge(100))).toBe('too_large')
  })

  it('says how much memory an unfinished event takes: two bytes for each character where one needs them', () => {
    const decoder = makeSseDecoder()
    decoder.push(Buffer.from('data: first\n\ndata: abc'))
    expect(decoder.heldBytes()).toBe('data: abc'.length)
    decoder.push(Buffer.from('ü'))
    expect(decoder.heldBytes()).toBe('data: abcü'.length * 2)
    decoder.push(Buffer.from('\n\n'))
    expect(decoder.heldBytes()).toBe(0)
  })

  it('counts short lines of data with what each of them takes besides its characters', () => {
    const decoder = makeSseDecoder(20_000)
    expect(() => decoder.push(Buffer.from('data: a\n'.repeat(1000)))).toThrow(SseEventTooLarge)
  })
})

describe('writing an event stream', () => {
  it('is read back as it was', () => {
    const text = fc.string({ unit: character }).map((any) => any.replaceAll('\r', ''))
    const name = fc.option(fc.stringMatching(/^[a-z._]+$/))
    fc.assert(
      fc.property(fc.array(fc.record({ event: name, data: text })), (events) => {
        // The line end in front is for data that begins with a byte order mark.
        expect(decodeText('\n' + events.map(encodeEvent).join(''))).toEqual(events)
      }),
    )
  })

  it('lets no comment become an event', () => {
    expect(decodeText(KEEP_ALIVE_COMMENT)).toEqual([])
  })
})

it.each(ALL_FIXTURES)('reads %s the same cut at every byte', (name) => {
  const bytes = fixture(name)
  const whole = decode(bytes)
  expect(whole.length).toBeGreaterThan(0)
  for (const chunks of cutEverywhere(bytes)) expect(decode(...chunks)).toEqual(whole)
})

it('holds a long line in little more memory than its size, although each byte of it comes alone', async () => {
  const decoder = makeSseDecoder()
  const bytes = Buffer.from(`data: ${'x'.repeat(200_000)}`)
  const before = await heapUsed()
  for (let at = 0; at < bytes.length; at++) decoder.push(bytes.subarray(at, at + 1))
  expect((await heapUsed()) - before).toBeLessThan(1_000_000)
  expect(decoder.push(Buffer.from('\n\n'))).toEqual([{ event: null, data: 'x'.repeat(200_000) }])
})
