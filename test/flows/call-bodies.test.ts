import { brotliCompressSync, constants, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startGateway } from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'
import { outcomeOf } from '../support/requests.ts'
import { servedModel } from '../support/served-models.ts'
import { answersJson, startUpstream } from '../support/upstream.ts'
import type { TestUpstream } from '../support/upstream.ts'

const MIB = 1024 * 1024
const PATH = '/codex/v1/responses'
const bodyOf = (bytes: number): string => {
  const [head, tail] = ['{"model":"vendorc/coder","input":"', '"}']
  return head + 'x'.repeat(bytes - head.length - tail.length) + tail
}

/** `duplex` is missing in some type declarations of `fetch`. */
type Init = NonNullable<Parameters<TestGateway['post']>[2]>

let upstream: TestUpstream
let gateway: TestGateway

beforeAll(async () => {
  upstream = await startUpstream()
  gateway = await startGateway({ vendorc: upstream.url, team: { models: [servedModel('vendorc/coder')] } })
})
beforeEach(() => upstream.restart(answersJson({ id: 'resp_1' })))
afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  await upstream[Symbol.asyncDispose]()
})

const send = (body: string | Buffer, encoding?: string) =>
  gateway.post(PATH, '', { body: body as BodyInit, headers: encoding ? { 'content-encoding': encoding } : {} })

const ENCODINGS = [
  ['gzip', (body: string | Buffer) => gzipSync(body)],
  ['deflate', (body: string | Buffer) => deflateSync(body)],
  // The best quality takes seconds, in which every idle connection times out.
  ['br', (body: string | Buffer) => brotliCompressSync(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 2 } })],
  ['zstd', (body: string | Buffer) => zstdCompressSync(body)],
] as const

it('a body in zstd may need a window of 8 MB to be decoded, and no larger one', async () => {
  const packed = (windowLog: number) =>
    zstdCompressSync(bodyOf(20 * MIB), { params: { [constants.ZSTD_c_windowLog]: windowLog } })
  expect((await send(packed(23), 'zstd')).status).toBe(200)
  expect(await outcomeOf(await send(packed(24), 'zstd'))).toBe('400 invalid_request')
})

describe.each(ENCODINGS)('a body in %s', (encoding, compress) => {
  it('reaches the upstream decompressed, without a content encoding', async () => {
    const sent = bodyOf(40_000)
    expect((await send(compress(sent), encoding)).status).toBe(200)
    expect(upstream.last().body.toString()).toBe(sent)
    expect(upstream.last().headers).not.toHaveProperty('content-encoding')
    expect(upstream.last().headers['content-length']).toBe('40000')
  })

  it('is refused when it is corrupt (400), and no upstream is called', async () => {
    const packed = compress(bodyOf(40_000))
    for (const corrupt of [packed.subarray(0, packed.length - 9), Buffer.from('not compressed at all')]) {
      expect(await outcomeOf(await send(corrupt, encoding))).toBe('400 invalid_request')
    }
    expect(upstream.calls).toEqual([])
  })

  it('is refused when it decompresses to more than 32 MiB (413)', async () => {
    const bomb = compress(Buffer.alloc(33 * MIB, 0x20))
    expect(bomb.length).toBeLessThan(MIB)
    expect(await outcomeOf(await send(bomb, encoding))).toBe('413 payload_too_large')
    expect(upstream.calls).toEqual([])
  })
})

it('sends its own content type to the upstream', async () => {
  const headers = { 'content-type': 'application/json; charset="utf-8"; v=1' }
  expect((await gateway.post(PATH, '', { body: bodyOf(100), headers })).status).toBe(200)
  expect(upstream.last().headers['content-type']).toBe('application/json')
})

it.each([
  ['a charset behind spaces', 'application/json; charset = utf-7'],
  ['two charsets', 'application/json; charset=utf-8; charset=utf-7'],
])('refuses a content type with %s (415)', async (_, type) => {
  const answer = await gateway.post(PATH, '', { body: bodyOf(100), headers: { 'content-type': type } })
  expect(await outcomeOf(answer)).toBe('415 unsupported_media_type')
  expect(upstream.calls).toEqual([])
})

it.each(['/v1/chat/completions', '/codex/v1/responses', '/vendorb/v1/messages'])(
  'refuses a body of %s that is not valid UTF-8 (400)',
  async (path) => {
    const body = Buffer.concat([
      Buffer.from('{"model":"vendorc/coder","x":"'),
      Buffer.from([0xc0, 0xaf]),
      Buffer.from('"}'),
    ])
    expect(await outcomeOf(await gateway.post(path, '', { body }))).toBe('400 invalid_request')
    expect(upstream.calls).toEqual([])
  },
)

it.each(['compress', 'gzip, br', 'x-custom'])('refuses a body in %s (415)', async (encoding) => {
  expect(await outcomeOf(await send(bodyOf(100), encoding))).toBe('415 unsupported_media_type')
  expect(upstream.calls).toEqual([])
})

it('passes a body of 32 MiB, and refuses one of a byte more (413)', async () => {
  expect((await send(bodyOf(32 * MIB))).status).toBe(200)
  expect(upstream.last().body.length).toBe(32 * MIB)
  expect(await outcomeOf(await send(bodyOf(32 * MIB + 1)))).toBe('413 payload_too_large')
})

it('limits a chunked body without a length in the same way', async () => {
  const inPieces = (body: string) => gateway.post(PATH, '', { body: new Blob([body]).stream(), duplex: 'half' } as Init)
  expect((await inPieces(bodyOf(MIB))).status).toBe(200)
  expect(upstream.last().body.toString()).toBe(bodyOf(MIB))
  expect(await outcomeOf(await inPieces(bodyOf(33 * MIB)))).toBe('413 payload_too_large')
  expect(upstream.calls.length).toBe(1)
})

it('calls no upstream when the caller leaves in the middle of its body', async () => {
  const leaving = new AbortController()
  const half = new ReadableStream({
    start: (body) => body.enqueue(Buffer.from('{"model":')),
    pull: () => leaving.abort(),
  })
  const call = gateway.post(PATH, '', { body: half, duplex: 'half', signal: leaving.signal } as Init)
  await expect(call).rejects.toThrow()
  expect((await send(bodyOf(100))).status).toBe(200)
  expect(upstream.calls.length).toBe(1)
})
