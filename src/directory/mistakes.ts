/** Where a mistake is in the directory file: names of fields, and positions in lists. */
export type Path = readonly (string | number)[]

export type Mistake = { readonly path: Path; readonly message: string }

/** A mistake for each value that was listed before; empty values do not count. */
export function findRepeated(values: readonly string[], pathOf: (index: number) => Path): Mistake[] {
  const seen = new Set<string>()
  return values.flatMap((value, i) => {
    const isRepeated = value !== '' && seen.has(value)
    seen.add(value)
    return isRepeated ? [{ path: pathOf(i), message: `"${value}" is listed twice` }] : []
  })
}
