/** How many bytes of a document are marked at once. */
export const BLOCK_BYTES = 32 * 1024
/** How many bytes one word of marks stands for. */
export const BYTES_PER_WORD = 32

/**
 * The WebAssembly module that marks the special bytes of JSON texts: quotes, backslashes and control characters. It is
 * one loop that compares 16 bytes at once. A loop in JavaScript takes as long as parsing the document.
 *
 * Each line is an entry of the binary format with its text form behind it (WebAssembly Core Specification, chapters 5
 * and 6). Written by hand, so that no compiler is needed. The memory is one page: a block of the document, and behind
 * it a bit for each byte of the block.
 */
const MODULE = [
  '00 61 73 6d 01 00 00 00', // "\0asm", version 1
  '01 05 01 60 01 7f 00', // (type (func (param i32)))
  '03 02 01 00', // one function of this type
  '05 04 01 01 01 01', // (memory 1 1)
  '07 11 02 04 6d 61 72 6b 00 00', // (export "mark" (func 0))
  '06 6d 65 6d 6f 72 79 02 00', // (export "memory" (memory 0))
  '0a 46 01 44', // one body of 68 bytes
  '02 01 7f 01 7b', // (param $length i32) (local $at i32) (local $bytes v128)
  '03 40', // loop
  '20 01', // local.get $at
  '41 03', // i32.const 3
  '76', // i32.shr_u
  '20 01', // local.get $at
  'fd 00 00 00', // v128.load
  '22 02', // local.tee $bytes
  '41 22', // i32.const 34, a quote
  'fd 0f', // i8x16.splat
  'fd 23', // i8x16.eq
  '20 02', // local.get $bytes
  '41 dc 00', // i32.const 92, a backslash
  'fd 0f', // i8x16.splat
  'fd 23', // i8x16.eq
  'fd 50', // v128.or
  '20 02', // local.get $bytes
  '41 20', // i32.const 32: control characters are less
  'fd 0f', // i8x16.splat
  'fd 26', // i8x16.lt_u
  'fd 50', // v128.or
  'fd 64', // i8x16.bitmask
  '3b 01 80 80 02', // i32.store16 offset=32768
  '20 01', // local.get $at
  '41 10', // i32.const 16
  '6a', // i32.add
  '22 01', // local.tee $at
  '20 00', // local.get $length
  '49', // i32.lt_u
  '0d 00', // br_if 0
  '0b', // end
  '0b', // end
]

/** `mark(length)` reads a multiple of 16 bytes. */
type Exports = { readonly mark: (length: number) => void; readonly memory: WebAssembly.Memory }

const compiled = new WebAssembly.Module(Buffer.from(MODULE.join('').replaceAll(' ', ''), 'hex'))
// Cast: what the module exports is written above.
const { mark, memory } = new WebAssembly.Instance(compiled).exports as Exports
const block = new Uint8Array(memory.buffer, 0, BLOCK_BYTES)
const marks = new Int32Array(memory.buffer, BLOCK_BYTES, BLOCK_BYTES / BYTES_PER_WORD)

const SPACE = 0x20

/**
 * Marks the special bytes of the block of a document that begins at `from`: bit `n` of word `w` stands for the byte at
 * `from + 32 * w + n`. The next call overwrites the result.
 */
export function markSpecialBytes(bytes: Uint8Array, from: number): Int32Array {
  const size = Math.min(BLOCK_BYTES, bytes.length - from)
  const words = Math.ceil(size / BYTES_PER_WORD)
  block.set(bytes.subarray(from, from + size))
  // An earlier document may have left special bytes there.
  block.fill(SPACE, size, words * BYTES_PER_WORD)
  mark(words * BYTES_PER_WORD)
  return marks.subarray(0, words)
}
