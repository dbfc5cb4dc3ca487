import { describe, expect, it } from 'vitest'
import { toEmail } from '../../src/kernel/email.ts'

describe('one address has one form', () => {
  it.each([
    ['ada@example.com', 'ada@example.com'],
    ['  ada@example.com\n', 'ada@example.com'],
    ['Ada.Lovelace@Example.COM', 'ada.lovelace@example.com'],
    ['ada+agent@example.com', 'ada+agent@example.com'],
    ["o'brien@example.com", "o'brien@example.com"],
    ['ada@localhost', 'ada@localhost'],
    ['ada@bücher.example', 'ada@xn--bcher-kva.example'],
    ['ada@bu\u0308cher.example', 'ada@xn--bcher-kva.example'],
    ['ada@XN--BCHER-KVA.example', 'ada@xn--bcher-kva.example'],
    ['a@' + 'b'.repeat(63) + '.example', 'a@' + 'b'.repeat(63) + '.example'],
    ['a'.repeat(64) + '@example.com', 'a'.repeat(64) + '@example.com'],
  ])('%j is %s', (text, email) => {
    expect(toEmail(text)).toBe(email)
  })

  it('stays as it is when it is taken twice', () => {
    const once = toEmail(' Ada@Bücher.example ')
    expect(once && toEmail(once)).toBe(once)
  })
})

describe('what is not one plain address is refused', () => {
  it.each([
    [''],
    ['ada'],
    ['@example.com'],
    ['ada@'],
    ['ada@@example.com'],
    ['ada@home@example.com'],
    ['a@b.test, evil@e.test'],
    ['a@b.test,evil@e.test'],
    ['a@b.test\r\nRCPT TO:<x@y.z>'],
    ['a@b.test\r\nBcc: x'],
    ['"a@b.test"@evil.test'],
    ['"a b"@example.com'],
    ['Ada <ada@example.com>'],
    ['ada@example.com>'],
    ['ada lovelace@example.com'],
    ['ada@exam ple.com'],
    ['ada\u0000@example.com'],
    ['ada@example\u0000.com'],
    ['.ada@example.com'],
    ['ada.@example.com'],
    ['a..da@example.com'],
    ['ada@.example.com'],
    ['ada@example..com'],
    ['ada@example.com.'],
    ['ada@-example.com'],
    ['ada@example-.com'],
    ['ada@example.com:25'],
    ['ada@example.com/x'],
    ['ada@example%2ecom'],
    ['ada@[127.0.0.1]'],
    ['ada\uFF20example.com'], // full-width @
    ['\u212A@example.com'], // Kelvin sign, which lower-cases to k
    ['ada@\u212Aey.example'], // and in the domain
    ['a\u0131da@example.com'], // dotless i
    ['ada@\uFF45xample.com'], // full-width e
    ['ada@example\u3002com'], // ideographic full stop
    ['ada@exa\u200Bmple.com'], // zero-width space
    ['ada@ex\u00ADample.com'], // soft hyphen
    ['ada@' + 'b'.repeat(64) + '.example'],
    ['a'.repeat(65) + '@example.com'],
    ['a@' + `${'b'.repeat(60)}.`.repeat(4) + 'example.com'],
  ])('%j', (text) => {
    expect(toEmail(text)).toBeNull()
  })
})
