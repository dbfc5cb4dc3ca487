/** A random number from 0 to 1, not for secrets: it can be guessed. */
export function random(): number {
  return Math.random()
}
