import { CommandError, wrongUsage } from '../failures.ts'

/** IDs that were made at about the same time start with the same characters. A shorter start would match many. */
const MIN_START_CHARACTERS = 4

/** What the help says of an argument that `findById` reads. */
export const ID_HELP = `the ID that the list shows, or its first characters, at least ${MIN_START_CHARACTERS}`

type Found<T> = {
  /** What a list holds, such as `devices`. */
  readonly plural: string
  /** How a message names an item. Default: by its ID. */
  nameOf?(item: T): string
  /** What to do when several items match. */
  readonly hint?: string
}

/**
 * The item with this ID, or the only item whose ID starts with these characters (at least four); undefined when there
 * is none. Throws when several match, and when the text is empty.
 */
export function findById<T extends { readonly id: string }>(
  items: readonly T[],
  start: string,
  { plural, nameOf = ({ id }) => id, hint = 'Give more of it.' }: Found<T>,
): T | undefined {
  // A script passes an empty text when its variable is not set, and every ID starts with it.
  if (start === '') throw wrongUsage('The ID is empty. Give an ID that the list shows, or its first characters.')
  const exact = items.filter(({ id }) => id === start)
  const isLongEnough = start.length >= MIN_START_CHARACTERS
  const matching = items.filter(({ id }) => isLongEnough && id.startsWith(start))
  const [found, another] = exact.length > 0 ? exact : matching
  if (!found || !another) return found
  const names = [found, another].map((item) => nameOf(item)).join(', ')
  throw new CommandError(`Several ${plural} have an ID that starts with ${start}: ${names}. ${hint}`)
}
