/** Lists that are longer than this are written in several statements, so that each is short. */
const BATCH_SIZE = 500

/** What has to be done to rows so that they equal what is wanted. */
export type RowChanges<Row, Wanted> = {
  readonly added: readonly Wanted[]
  readonly changed: readonly { readonly row: Row; readonly wanted: Wanted }[]
  readonly removed: readonly Row[]
}

/** Compares rows with what is wanted, by their keys. */
export function compareRows<Row, Wanted>(
  kept: ReadonlyMap<string, Row>,
  wanted: ReadonlyMap<string, Wanted>,
  differs: (row: Row, wanted: Wanted) => boolean,
): RowChanges<Row, Wanted> {
  const pairs = [...wanted].map(([key, value]) => ({ row: kept.get(key), wanted: value }))
  return {
    added: pairs.filter(({ row }) => row === undefined).map((pair) => pair.wanted),
    changed: pairs.flatMap((pair) =>
      pair.row !== undefined && differs(pair.row, pair.wanted) ? [{ row: pair.row, wanted: pair.wanted }] : [],
    ),
    removed: [...kept].filter(([key]) => !wanted.has(key)).map(([, row]) => row),
  }
}

/** Cuts a list into batches, in their order. */
export function batchesOf<Item>(items: readonly Item[]): Item[][] {
  const count = Math.ceil(items.length / BATCH_SIZE)
  return Array.from({ length: count }, (_, at) => items.slice(at * BATCH_SIZE, (at + 1) * BATCH_SIZE))
}
