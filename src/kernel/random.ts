import { randomInt } from 'node:crypto'

/** A random number from 0 to 1, not for secrets: it can be guessed. */
export function random(): number {
  return Math.random()
}

/** Random letters of an alphabet, each equally likely. They cannot be guessed, so they may be a secret. */
export function randomLetters(alphabet: string, count: number): string {
  return Array.from({ length: count }, () => alphabet[randomInt(alphabet.length)]).join('')
}
