import { describe, expect, it } from 'vitest'
import { isGenuine, makeRefreshToken, readRefreshToken } from '../../src/kernel/credentials/refresh-token.ts'
import { newKeyMaterial, newSalt, Secret } from '../../src/kernel/secret.ts'

const KEY = { number: 1, secret: newKeyMaterial() }
const SALT = newSalt()
const SESSION = '0198c1f2-7d3a-7abc-8def-0123456789ab'
const token = makeRefreshToken(KEY, SALT, SESSION, 7)

const read = (text: string) => readRefreshToken(new Secret(text))

describe('a refresh token', () => {
  it('says its session and generation, and is genuine for key and salt', () => {
    const claim = readRefreshToken(token)
    expect(claim).toMatchObject({ keyNumber: 1, sessionId: SESSION, generation: 7 })
    expect(claim && isGenuine(claim, KEY, SALT)).toBe(true)
  })

  it('is the same again for the same generation, and another one for the next', () => {
    expect(makeRefreshToken(KEY, SALT, SESSION, 7).reveal()).toBe(token.reveal())
    expect(makeRefreshToken(KEY, SALT, SESSION, 8).reveal()).not.toBe(token.reveal())
  })

  it('is not genuine for another salt or another key', () => {
    const claim = readRefreshToken(token)
    if (!claim) throw new Error('It does not read.')
    expect(isGenuine(claim, KEY, newSalt())).toBe(false)
    expect(isGenuine(claim, { number: 1, secret: newKeyMaterial() }, SALT)).toBe(false)
  })

  it('is not genuine with any bit changed', () => {
    const bytes = Buffer.from(token.reveal().slice('svcr_'.length), 'base64url')
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const forged = Buffer.from(bytes)
      forged[bit >> 3] = (forged[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      const claim = read(`svcr_${forged.toString('base64url')}`)
      expect(claim !== null && isGenuine(claim, KEY, SALT), `bit ${bit}`).toBe(false)
    }
  })

  it.each([
    ['nothing', ''],
    ['the prefix alone', 'svcr_'],
    ['one character less', token.reveal().slice(0, -1)],
    ['one character more', `${token.reveal()}A`],
    ['a line break at the end', `${token.reveal()}\n`],
    ['another prefix', token.reveal().replace('svcr_', 'svcd_')],
    ['the other base64 alphabet', `svcr_${'+'.repeat(72)}`],
    ['an unknown version', `svcr_${Buffer.alloc(54, 9).toString('base64url')}`],
    ['a megabyte', `svcr_${'A'.repeat(1_000_000)}`],
    ['an access token', 'eyJhbGciOiJFZERTQSJ9.e30.c2ln'],
  ])('is not read from %s', (_, text) => {
    expect(read(text)).toBeNull()
  })
})
