/** A random number from 0 to 1, which nobody has to be unable to guess. */
export function random(): number {
  return Math.random()
}
