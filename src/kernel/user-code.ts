import { randomInt } from 'node:crypto'

/** Consonants that cannot be confused with each other or spell a word (RFC 8628, section 6.1). */
const ALPHABET = 'BCDFGHJKLMNPQRSTVWXZ'

/** A new user code, as it is stored: eight letters, 34.6 bits. */
export function newUserCode(): string {
  return Array.from({ length: 8 }, () => ALPHABET[randomInt(ALPHABET.length)]).join('')
}

/** `BCDFGHJK` as people see it: `BCDF-GHJK`. */
export function showUserCode(userCode: string): string {
  return `${userCode.slice(0, 4)}-${userCode.slice(4)}`
}

/** What a person typed, as it is stored: upper case, letters only. */
export function plainUserCode(typed: string): string {
  return typed.toUpperCase().replaceAll(/[^A-Z]/g, '')
}
