import { describe, expect, it } from 'vitest'
import { maskCredential } from '../../src/gateway/exchange/credential-refusal.ts'
import { Secret } from '../../src/kernel/secret.ts'

describe('the credential in an error of a backend', () => {
  it.each([
    ['is overwritten', 'secret-1', 'no secret-1 here', 'no ******** here'],
    ['is overwritten at each place', 'secret-1', 'secret-1,secret-1secret-1', '********,****************'],
    ['may be half there', 'secret-1', 'secret-secret-1', 'secret-********'],
    ['is no word that the error may contain', 'ollama', 'ollama is busy', 'ollama is busy'],
    ['may be a masked key that somebody has pasted', '********', 'sk-****************1234', 'sk-****************1234'],
    ['may begin as it ends', '*key*key*', '*key*key*key*key*', '*****************'],
  ])('%s', (_name, secret, text, expected) => {
    const body = Buffer.from(text)
    maskCredential(body, { as: 'bearer', secret: new Secret(secret) })
    expect(body.toString()).toBe(expected)
  })
})
