import { InvalidArgumentError } from 'commander'

const WHOLE_NUMBER = /^\d{1,9}$/

/** Reads the value of an option that is a whole number. Throws commander's error for wrong usage. */
export function toWholeNumber(text: string): number {
  if (!WHOLE_NUMBER.test(text)) throw new InvalidArgumentError('Give a whole number.')
  return Number(text)
}

/** Makes a function that reads a whole number from 1 to a maximum in the same way. */
export function makeToNumber(max: number): (text: string) => number {
  return (text) => {
    const number = Number(text)
    if (WHOLE_NUMBER.test(text) && number >= 1 && number <= max) return number
    throw new InvalidArgumentError(`Give a whole number from 1 to ${max}.`)
  }
}

/** Reads the number of days for which an API key works. */
export const toDays = makeToNumber(366)
