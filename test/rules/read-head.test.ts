import { describe, expect, it } from 'vitest'
import { readHead } from '../../src/gateway/exchange/read-head.ts'

const now = new Date('2026-11-21T10:00:00Z')

describe('Retry-After of a backend', () => {
  const read = (headers: Record<string, string | string[]>) => readHead(429, headers, now).headers['retry-after']

  it.each([
    ['7', '7'],
    ['0', '1'],
    ['0.2', '1'],
    ['1.5', '2'],
    ['Sat, 21 Nov 2026 10:00:30 GMT', '30'],
    ['Sat, 21 Nov 2026 09:00:00 GMT', '1'],
    ['soon', undefined],
    ['-1', undefined],
    ['', undefined],
  ])('of %s is %s in whole seconds', (value, expected) => {
    expect(read({ 'retry-after': value })).toBe(expected)
  })

  it.each([
    ['1500', '2'],
    ['622.4', '1'],
    ['soon', undefined],
  ])('is read from the time in milliseconds where it has no other: %s', (value, expected) => {
    expect(read({ 'retry-after-ms': value })).toBe(expected)
    expect(read({ 'retry-after-ms': value, 'retry-after': '7' })).toBe('7')
  })

  it('is missing where the backend names no time', () => {
    expect(read({})).toBeUndefined()
  })
})

it('of a header that the backend repeats counts the first', () => {
  const types = ['text/event-stream', 'text/plain']
  // undici has lists where Node's types do not.
  const repeated: Record<string, string[]> = { 'content-type': types, 'retry-after': ['7', '9'] }
  expect(readHead(200, repeated, now).headers).toEqual({
    'content-type': 'text/event-stream',
    'retry-after': '7',
  })
})
