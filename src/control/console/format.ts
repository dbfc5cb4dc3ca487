/** How the pages of a team write numbers, durations and sentences. */
import { makeNumberFormat, toCount } from '../../kernel/formats/number-format.ts'

/** How many calls, in words: `1 call`, `12,345 calls`. */
export function toCalls(count: number): string {
  return count === 1 ? '1 call' : `${toCount(count)} calls`
}

/** Large numbers in few characters: `12.3M`. */
export const toCompact = makeNumberFormat({ notation: 'compact', maximumFractionDigits: 1 })

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

/** A text with a capital letter at its beginning. */
export function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
