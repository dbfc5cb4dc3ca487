import { randomLetters } from '../../kernel/random.ts'

/** Consonants that are hard to confuse and that cannot spell words (RFC 8628, section 6.1). */
const ALPHABET = 'BCDFGHJKLMNPQRSTVWXZ'

/** A new user code in its stored form: eight letters, 34.6 bits. */
export function newUserCode(): string {
  return randomLetters(ALPHABET, 8)
}

/** The displayed form of a stored user code: `BCDFGHJK` becomes `BCDF-GHJK`. */
export function showUserCode(userCode: string): string {
  return `${userCode.slice(0, 4)}-${userCode.slice(4)}`
}

/** The stored form of what a person typed: upper case, letters only. */
export function plainUserCode(typed: string): string {
  return typed.toUpperCase().replaceAll(/[^A-Z]/g, '')
}
