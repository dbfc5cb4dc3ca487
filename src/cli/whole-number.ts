import { InvalidArgumentError } from 'commander'

/** Reads the value of an option that is a whole number. Throws commander's error, which is wrong usage. */
export function toWholeNumber(text: string): number {
  if (!/^\d{1,6}$/.test(text)) throw new InvalidArgumentError('Give a whole number.')
  return Number(text)
}
