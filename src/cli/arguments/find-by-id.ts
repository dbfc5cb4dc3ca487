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
 * is none. Throws when several match, and when the text is too short, such as the empty one of a script whose variable
 * is not set.
 */
export function findById<T extends { readonly id: string }>(
  items: readonly T[],
  start: string,
  { plural, nameOf = ({ id }) => id, hint = 'Give more of it.' }: Found<T>,
): T | undefined {
  const exact = items.filter(({ id }) => id === start)
  const isExact = exact.length > 0
  if (!isExact && start.length < MIN_START_CHARACTERS)
    throw wrongUsage(`The ID "${start}" is too short. Give ${ID_HELP}.`)
  const [found, another] = isExact ? exact : items.filter(({ id }) => id.startsWith(start))
  if (!found || !another) return found
  const names = [found, another].map((item) => nameOf(item)).join(', ')
  throw new CommandError(`Several ${plural} have an ID that starts with ${start}: ${names}. ${hint}`)
}
