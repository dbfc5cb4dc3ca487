import { InvalidArgumentError } from 'commander'

/** The longest life of an API key, in days. */
const MAX_KEY_DAYS = 366

/** Reads the value of an option that is a whole number. Throws commander's error for wrong usage. */
export function toWholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('Give a whole number.')
  return Number(text)
}

/** Reads the number of days for which an API key works. Throws commander's error for wrong usage. */
export function toDays(text: string): number {
  const days = toWholeNumber(text)
  if (days >= 1 && days <= MAX_KEY_DAYS) return days
  throw new InvalidArgumentError(`Give a whole number from 1 to ${MAX_KEY_DAYS}.`)
}
