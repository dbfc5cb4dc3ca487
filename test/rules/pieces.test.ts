import { expect, it } from 'vitest'
import { ByteChunks, TextPieces } from '../../src/kernel/pieces.ts'
import { heapUsed } from '../support/garbage.ts'

it.each([0, 1, 2, 1023, 1024, 1025, 5000])('%i pieces of one byte are taken as one, in their order', (count) => {
  const bytes = new ByteChunks()
  const text = new TextPieces()
  const wanted = Array.from({ length: count }, (_, at) => String(at % 10)).join('')
  for (const digit of wanted) {
    bytes.add(Buffer.from(digit))
    text.add(digit)
  }
  expect([bytes.length, text.length]).toEqual([count, count])
  expect([bytes.take().toString(), text.take()]).toEqual([wanted, wanted])
  expect([bytes.length, text.length, bytes.take().length, text.take()]).toEqual([0, 0, 0, ''])
})

it('a single chunk is not copied', () => {
  const chunks = new ByteChunks()
  const chunk = Buffer.from('a chunk')
  chunks.add(chunk)
  expect(chunks.take()).toBe(chunk)
})

it('many pieces of one byte take little more memory than their bytes', async () => {
  const chunks = new ByteChunks()
  const bytes = Buffer.alloc(200_000, 'x')
  const before = await heapUsed()
  for (let at = 0; at < bytes.length; at++) chunks.add(bytes.subarray(at, at + 1))
  expect((await heapUsed()) - before).toBeLessThan(4_000_000)
  expect(chunks.take().equals(bytes)).toBe(true)
})
