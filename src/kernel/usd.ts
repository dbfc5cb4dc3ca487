/** 10^-9 USD as USD for people: with cents, or with two digits that are not zero where it is less than a cent. */
export function writeUsd(nano: number): string {
  const usd = nano / 1e9
  if (nano <= 0 || usd >= 0.01) return usd.toFixed(2)
  return usd.toFixed(Math.min(9, 1 - Math.floor(Math.log10(usd))))
}

/** 10^-9 USD as exact USD, with cents at least: `50.00`, `0.0042`. */
export function writeExactUsd(nano: number): string {
  const fraction = String(nano % 1e9).padStart(9, '0')
  return `${Math.floor(nano / 1e9)}.${fraction.replace(/0{1,7}$/, '')}`
}

/** No spending limit is higher. */
export const MAX_USD = 1_000_000

/** Reads USD as people write them, such as `50` or `2.50`, as 10^-9 USD; null unless above 0 and up to `MAX_USD`. */
export function readUsd(text: string): number | null {
  const [, whole = '', fraction = ''] = /^(\d{1,7})(?:\.(\d{1,9}))?$/.exec(text) ?? []
  const nano = Number(whole) * 1e9 + Number(fraction.padEnd(9, '0'))
  return nano > 0 && nano <= MAX_USD * 1e9 ? nano : null
}
