/** Writes whole numbers with separators: `12,345`. */
export const toCount = makeNumberFormat({})

/** Makes a function that writes numbers in English. The first formatter takes 12 ms, so it is made at the first use. */
export function makeNumberFormat(options: Intl.NumberFormatOptions): (value: number | bigint) => string {
  let format: Intl.NumberFormat | undefined
  return (value) => (format ??= new Intl.NumberFormat('en-US', options)).format(value)
}
