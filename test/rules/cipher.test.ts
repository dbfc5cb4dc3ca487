import { describe, expect, it } from 'vitest'
import { makeCipher, newEncryptionKey, readEncryptionKey } from '../../src/kernel/credentials/cipher.ts'
import { Secret } from '../../src/kernel/secret.ts'

const [first, second] = [newEncryptionKey(), newEncryptionKey()]
const secret = new Secret('sk-vendor-1')
const encrypted = makeCipher([first]).encrypt(secret, 'team-1 backend-1')

describe('makeCipher', () => {
  it('decrypts what it encrypted, and does not contain it', () => {
    expect(makeCipher([first]).decrypt(encrypted, 'team-1 backend-1')?.reveal()).toBe('sk-vendor-1')
    expect(Buffer.from(encrypted.bytes).includes('sk-vendor')).toBe(false)
    expect(makeCipher([first]).encrypt(secret, 'team-1 backend-1').bytes).not.toEqual(encrypted.bytes)
  })

  it('encrypts with the first key, and decrypts with all of them', () => {
    const rotated = makeCipher([second, first])
    expect(rotated.decrypt(encrypted, 'team-1 backend-1')?.reveal()).toBe('sk-vendor-1')
    expect(rotated.encrypt(secret, 'x').keyId).toBe(rotated.keyId)
    expect(rotated.keyId).not.toBe(encrypted.keyId)
  })

  it.each([
    ['another context', encrypted, 'team-1 backend-2'],
    ['a changed byte', { ...encrypted, bytes: encrypted.bytes.map((byte, at) => (at === 14 ? byte ^ 1 : byte)) }, null],
    ['a cut tag', { ...encrypted, bytes: encrypted.bytes.slice(0, -1) }, null],
    ['no bytes', { ...encrypted, bytes: new Uint8Array() }, null],
  ])('does not decrypt with %s', (_name, given, context) => {
    expect(makeCipher([first]).decrypt(given, context ?? 'team-1 backend-1')).toBeNull()
  })

  it('does not decrypt without its key', () => {
    expect(makeCipher([second]).decrypt(encrypted, 'team-1 backend-1')).toBeNull()
  })
})

describe('readEncryptionKey', () => {
  it('reads 32 bytes in base64, and nothing else', () => {
    const key = 'A'.repeat(43)
    expect(readEncryptionKey(`${key}=`)?.reveal()).toBe(`${key}=`)
    expect(['', 'c2hvcnQ=', `${key}AA`, `${key} `, `${key}!`].map(readEncryptionKey)).toEqual(Array(5).fill(null))
  })
})
