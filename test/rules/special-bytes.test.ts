import fc from 'fast-check'
import { expect, it } from 'vitest'
import { BLOCK_BYTES, markSpecialBytes } from '../../src/gateway/dialects/json/special-bytes.ts'

const isSpecial = (byte: number): boolean => byte === 0x22 || byte === 0x5c || byte < 0x20

/** The places of the marked bytes of a block. */
function markedIn(bytes: Uint8Array, from: number): number[] {
  const bits = [...markSpecialBytes(bytes, from)].flatMap((word) =>
    Array.from({ length: 32 }, (_, at) => (word >>> at) & 1),
  )
  return bits.flatMap((bit, at) => (bit === 1 ? [from + at] : []))
}

/** The places of the special bytes of a block, as a plain loop finds them. */
function specialIn(bytes: Uint8Array, from: number): number[] {
  return [...bytes.subarray(from, from + BLOCK_BYTES)].flatMap((byte, at) => (isSpecial(byte) ? [from + at] : []))
}

it('marks quotes, backslashes and control characters, and no other byte', () => {
  const every = Uint8Array.from({ length: 256 }, (_, byte) => byte)
  expect(markedIn(every, 0)).toEqual(specialIn(every, 0))
})

it('marks no bytes behind the end, where an earlier document had special ones', () => {
  const byte = fc.oneof(fc.constantFrom(0x22, 0x5c, 0x1f, 0x20, 0xdc, 0xa2), fc.nat(255))
  fc.assert(
    fc.property(fc.array(byte, { maxLength: 100 }), (given) => {
      const bytes = Uint8Array.from(given)
      markSpecialBytes(new Uint8Array(200), 0)
      expect(markedIn(bytes, 0)).toEqual(specialIn(bytes, 0))
    }),
  )
})

it.each([-1, 0, 1, 15, 31])('marks the blocks of a document of one block and %s bytes', (more) => {
  const bytes = Uint8Array.from({ length: BLOCK_BYTES + more }, (_, at) => at * 7)
  expect(markedIn(bytes, 0)).toEqual(specialIn(bytes, 0))
  if (more > 0) expect(markedIn(bytes, BLOCK_BYTES)).toEqual(specialIn(bytes, BLOCK_BYTES))
})
