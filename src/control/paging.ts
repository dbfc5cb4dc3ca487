import { ApiError } from '../http/errors.ts'
import { isUuid } from '../kernel/identifier.ts'

/** One page of a list. `last`: its last row when there is another page; null when this page is the last one. */
export type Page<Row> = { readonly shown: readonly Row[]; readonly last: Row | null }

/** Finds a page of at most `limit` rows. It asks `find` for one row more, to see whether there is another page. */
export async function findPage<Row>(
  limit: number,
  find: (limit: number) => Promise<readonly Row[]>,
): Promise<Page<Row>> {
  const found = await find(limit + 1)
  const shown = found.slice(0, limit)
  return { shown, last: found.length > shown.length ? (shown.at(-1) ?? null) : null }
}

/**
 * Reads the cursor of a request, its parameter `before` or `after`, which says where the previous page ended. Null for
 * the first page. Throws for any other text.
 */
export function readCursor<Cursor>(
  name: 'before' | 'after',
  text: string | undefined,
  read: (text: string) => Cursor | null,
): Cursor | null {
  if (text === undefined) return null
  const cursor = read(text)
  if (!cursor)
    throw new ApiError('invalid_request', { message: `"${name}" is not the "next" of a page. Start without it.` })
  return cursor
}

/** Where a page of a list that is ordered by time ends: the time and the id of its last row. */
export type TimeCursor = { readonly at: Date; readonly id: string }

/** Writes where a page ends, for `readTimeCursor`. */
export function writeTimeCursor({ at, id }: TimeCursor): string {
  return `${at.getTime()}_${id}`
}

/** Reads where a page ends; null when the text is not what `writeTimeCursor` writes. */
export function readTimeCursor(text: string): TimeCursor | null {
  const [, time, id] = /^(\d{1,14})_(.*)$/.exec(text) ?? []
  return time === undefined || id === undefined || !isUuid(id) ? null : { at: new Date(Number(time)), id }
}
