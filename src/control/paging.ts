import { ApiError } from '../http/errors.ts'

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

/** Reads the parameter `before`, the end of the page before; null for the first page. Throws for any other text. */
export function readBefore<Place>(text: string | undefined, read: (text: string) => Place | null): Place | null {
  if (text === undefined) return null
  const place = read(text)
  if (!place)
    throw new ApiError('invalid_request', { message: '"before" is not the "next" of a page. Start without it.' })
  return place
}
