import { CommandError, wrongUsage } from '../failures.ts'

/** IDs of the same days start alike, so a shorter start would say too little. */
const MIN_START_CHARACTERS = 4

type Found<T> = {
  /** What a list holds, such as `devices`. */
  readonly plural: string
  /** How a message names one of several; by its ID unless given. */
  nameOf?(item: T): string
  /** How to say which one is meant. */
  readonly hint?: string
}

/**
 * The item of a list with this ID, or the only one whose ID starts with these characters, at least four; undefined when
 * there is none. Throws when there are several, and when the text is empty.
 */
export function findById<T extends { readonly id: string }>(
  items: readonly T[],
  start: string,
  { plural, nameOf = ({ id }) => id, hint = 'Give more of it.' }: Found<T>,
): T | undefined {
  // A script passes an empty text when its variable is not set, and every ID starts with it.
  if (start === '') throw wrongUsage('The ID is empty. Give an ID of the list, or the start of one.')
  const exact = items.filter(({ id }) => id === start)
  const isLongEnough = start.length >= MIN_START_CHARACTERS
  const alike = items.filter(({ id }) => isLongEnough && id.startsWith(start))
  const [found, another] = exact.length > 0 ? exact : alike
  if (!found || !another) return found
  const names = [found, another].map((item) => nameOf(item)).join(', ')
  throw new CommandError(`Several ${plural} have an ID that starts with ${start}: ${names}. ${hint}`)
}
