import { describe, expect, it } from 'vitest'
import { renameModel } from '../../src/gateway/workers/rename.ts'
import { byteByByte } from '../support/upstream.ts'

const { whole, stream } = renameModel('svc/fast')

describe('a whole answer of the worker', () => {
  it.each([
    [
      'names the service model',
      '{"id":"1","model":"qwen3:8b","choices":[]}',
      '{"id":"1","model":"svc/fast","choices":[]}',
    ],
    [
      'whatever the order and the spaces',
      '{\n "choices": [{"model":"deep"}],\n "model" : "qwen3:8b" }',
      '{\n "choices": [{"model":"deep"}],\n "model" : "svc/fast" }',
    ],
    [
      'keeps numbers as they are',
      '{"model":"q","n":12345678901234567890,"f":1.0}',
      '{"model":"svc/fast","n":12345678901234567890,"f":1.0}',
    ],
    ['that names no model gets none', '{"id":"1"}', '{"id":"1"}'],
    ['that is no object stays as it is', '"model"', '"model"'],
    ['that is no JSON stays as it is', 'oops', 'oops'],
  ])('%s', (_name, sent, expected) => {
    expect(whole(Buffer.from(sent), 200).toString()).toBe(expected)
  })

  it('with an error stays as it is', () => {
    expect(whole(Buffer.from('{"model":"qwen3:8b"}'), 404).toString()).toBe('{"model":"qwen3:8b"}')
  })
})

describe('a stream of the worker', () => {
  const cases: [string, string, string][] = [
    [
      'names the service model in each chunk',
      'data: {"id":"1","model":"qwen3:8b","choices":[]}\n\ndata: {"model":"qwen3:8b"}\n\ndata: [DONE]\n\n',
      'data: {"id":"1","model":"svc/fast","choices":[]}\n\ndata: {"model":"svc/fast"}\n\ndata: [DONE]\n\n',
    ],
    [
      'with CRLF',
      'data: {"model": "q\\"x"}\r\n\r\ndata: [DONE]\r\n\r\n',
      'data: {"model": "svc/fast"}\r\n\r\ndata: [DONE]\r\n\r\n',
    ],
    ['with bare CR', 'data: {"model":"q"}\r\rdata: [DONE]\r\r', 'data: {"model":"svc/fast"}\r\rdata: [DONE]\r\r'],
    [
      'leaves what is said alone',
      'data: {"model":"q","c":"\\"model\\":\\"q\\" ü"}\n\n',
      'data: {"model":"svc/fast","c":"\\"model\\":\\"q\\" ü"}\n\n',
    ],
    ['leaves a model that is no text alone', 'data: {"model":null}\n\n', 'data: {"model":null}\n\n'],
    ['leaves other events alone', ': ping\n\ndata: [DONE]\n\n', ': ping\n\ndata: [DONE]\n\n'],
    ['leaves an unfinished string alone', 'data: {"model":"q', 'data: {"model":"q'],
  ]

  it.each(cases)('%s', (_name, sent, expected) => {
    expect(renamed([Buffer.from(sent)])).toBe(expected)
  })

  it.each(cases)('%s, cut at every byte', (_name, sent, expected) => {
    expect(renamed(byteByByte(sent))).toBe(expected)
  })

  it.each(cases)('%s, cut once at each place', (_name, sent, expected) => {
    const bytes = Buffer.from(sent)
    for (let at = 1; at < bytes.length; at++)
      expect(renamed([bytes.subarray(0, at), bytes.subarray(at)])).toBe(expected)
  })

  it('holds back nothing but a line that has only begun', () => {
    const renaming = stream()
    expect(renaming.push(Buffer.from('data: {"model":"q"}\n')).toString()).toBe('data: {"model":"svc/fast"}\n')
    expect(renaming.push(Buffer.from('\ndata: {"mo')).toString()).toBe('\n')
    expect(renaming.push(Buffer.from('del":"q"}\n\n')).toString()).toBe('data: {"model":"svc/fast"}\n\n')
  })

  it('of one endless line is given up', () => {
    const renaming = stream()
    const piece = Buffer.alloc(8 * 1024 * 1024, 120)
    expect(() => Array.from({ length: 5 }, () => renaming.push(piece))).toThrow('does not end')
  })
})

function renamed(chunks: readonly Buffer[]): string {
  const renaming = stream()
  return Buffer.concat([...chunks.map((chunk) => renaming.push(chunk)), renaming.end()]).toString()
}
