/** How the pages of a team write numbers and days. */
import { toUtcDay } from '../../kernel/utc-text.ts'

/** 10^-9 USD that make a cent. */
const NANO_CENT = 10_000_000
const NANO_USD = 1_000_000_000

const count = makeFormat({})
const compact = makeFormat({ notation: 'compact', maximumFractionDigits: 1 })
const cents = makeFormat({ minimumFractionDigits: 2, maximumFractionDigits: 2 })
const underACent = makeFormat({ maximumSignificantDigits: 2 })

/** The first formatter of a process takes 12 ms, so it is made by the first page and not at the start. */
function makeFormat(options: Intl.NumberFormatOptions): (value: number | bigint) => string {
  let format: Intl.NumberFormat | undefined
  return (value) => (format ??= new Intl.NumberFormat('en-US', options)).format(value)
}

/** Whole numbers, with separators: `12,345`. */
export function toCount(given: number | bigint): string {
  return count(given)
}

/** Large numbers in few characters: `12.3M`. */
export function toCompact(given: number): string {
  return compact(given)
}

/** 10^-9 USD in dollars and cents: `$1,234.56`. Under a cent, with two significant digits: `$0.0042`. */
export function toMoney(nanoUsd: number): string {
  const format = nanoUsd === 0 || nanoUsd >= NANO_CENT ? cents : underACent
  return `$${format(nanoUsd / NANO_USD)}`
}

/** A part of a whole: `2.5%`. A part of 0 is `0%`. */
export function toPercent(part: number, whole: number): string {
  if (part === 0 || whole === 0) return '0%'
  const percent = (part / whole) * 100
  return percent < 0.1 ? 'under 0.1%' : `${percent.toFixed(percent < 10 ? 1 : 0)}%`
}

/** A duration in milliseconds: `340 ms`, `1.2 s`. */
export function toDuration(milliseconds: number): string {
  return milliseconds < 1000 ? `${Math.round(milliseconds)} ms` : `${(milliseconds / 1000).toFixed(1)} s`
}

/** A day such as `2026-11-21` for people: `21 Nov 2026`. */
export function toDayText(day: string): string {
  return toUtcDay(new Date(`${day}T00:00:00Z`))
}
