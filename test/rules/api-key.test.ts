import { describe, expect, it } from 'vitest'
import {
  endOfOverlap,
  expiryOf,
  findUnknownModels,
  isWorking,
  judgeRotation,
  MAX_KEYS,
} from '../../src/control/api-keys/rules.ts'
import { isApiKey, looksLikeApiKey, newApiKey, shownPrefixOf } from '../../src/kernel/credentials/api-key.ts'
import { Secret } from '../../src/kernel/secret.ts'

/** Made by hand: the checksum is the CRC-32 of the text before it (RFC 1952), four bytes in base64url. */
const KEY = 'svck_7Fq2LCVzYzCNiM_BC7CT_dxt1IPH4N-loV3lJL41fgAycBLCg'

describe('the form of an API key', () => {
  it('has the prefix, 256 random bits and a checksum', () => {
    const keys = Array.from({ length: 100 }, () => newApiKey().reveal())
    for (const key of keys) expect(key).toMatch(/^svck_[\w-]{49}$/)
    expect(new Set(keys).size).toBe(100)
    expect(keys.every((key) => isApiKey(new Secret(key)))).toBe(true)
  })

  it('is recognized by its checksum', () => {
    expect(isApiKey(new Secret(KEY))).toBe(true)
    expect(shownPrefixOf(new Secret(KEY))).toBe('svck_7Fq2')
  })

  it('is not recognized after a change of any character', () => {
    const changed = Array.from(
      KEY,
      (character, at) => KEY.slice(0, at) + (character === 'A' ? 'B' : 'A') + KEY.slice(at + 1),
    )
    expect(changed.filter((text) => isApiKey(new Secret(text)))).toEqual([])
  })

  it.each(['', 'svck_', KEY.slice(0, -1), `${KEY}A`, ` ${KEY}`, KEY.toUpperCase(), 'eyJhbGciOiJFZERTQSJ9.e30.x'])(
    'is not recognized in %j',
    (text) => {
      expect(isApiKey(new Secret(text))).toBe(false)
    },
  )

  it('is recognized by its prefix even when it is mistyped, so that refusals can name it', () => {
    expect([KEY, 'svck_x', 'svcs_x', undefined].map(looksLikeApiKey)).toEqual([true, true, false, false])
  })
})

const NOW = new Date('2026-11-22T10:00:00Z')
const in_ = (seconds: number) => new Date(NOW.getTime() + seconds * 1000)
const key = { expiresAt: in_(60), revokedAt: null, replacedById: null }

describe('an API key', () => {
  it.each([
    ['works until it expires', key, true],
    ['ends at its expiry', { ...key, expiresAt: NOW }, false],
    ['ends when it is revoked', { ...key, revokedAt: NOW }, false],
  ])('%s', (_name, state, works) => {
    expect(isWorking(state, NOW)).toBe(works)
  })

  it('expires after 90 days, or after as many as are asked for', () => {
    expect([expiryOf(NOW), expiryOf(NOW, 1)]).toEqual([in_(90 * 86_400), in_(86_400)])
  })
})

describe('the rotation of a key', () => {
  it.each([
    ['is allowed', key, 1, in_(60), 'rotate'],
    ['is refused for an expired key', { ...key, expiresAt: NOW }, 0, NOW, 'not_found'],
    ['is refused for a revoked key', { ...key, revokedAt: NOW }, 0, in_(60), 'not_found'],
    ['is refused for a key that was rotated before', { ...key, replacedById: 'b' }, 2, in_(60), 'rotated_before'],
    ['is refused when it would be one key too many', key, MAX_KEYS, in_(60), 'too_many'],
    ['is allowed at the limit when the old key ends at once', key, MAX_KEYS, NOW, 'rotate'],
  ] as const)('%s', (_name, state, working, oldEndsAt, verdict) => {
    expect(judgeRotation(state, working, oldEndsAt, NOW)).toBe(verdict)
  })

  it.each([
    ['one day by default', { ...key, expiresAt: in_(1e6) }, undefined, in_(86_400)],
    ['the given overlap', { ...key, expiresAt: in_(1e6) }, 3600, in_(3600)],
    ['nothing', key, 0, NOW],
    ['never more than the key had left', key, 3600, in_(60)],
  ] as const)('leaves the old key %s', (_name, state, overlapSeconds, end) => {
    expect(endOfOverlap(state, NOW, overlapSeconds)).toEqual(end)
  })
})

it('finds the models that a team does not have', () => {
  expect(findUnknownModels(['a', 'b', 'c'], ['b', 'd'])).toEqual(['a', 'c'])
  expect(findUnknownModels([], ['b'])).toEqual([])
})
