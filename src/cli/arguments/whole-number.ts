import { InvalidArgumentError } from 'commander'

/** The longest life of an API key, in days. */
const MAX_KEY_DAYS = 366

/** Reads the value of an option that is a whole number. Throws commander's error, which is wrong usage. */
export function toWholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('Give a whole number.')
  return Number(text)
}

/** Reads after how many days an API key stops working. Throws commander's error. */
export function toDays(text: string): number {
  const days = toWholeNumber(text)
  if (days >= 1 && days <= MAX_KEY_DAYS) return days
  throw new InvalidArgumentError(`Give a whole number from 1 to ${MAX_KEY_DAYS}.`)
}
