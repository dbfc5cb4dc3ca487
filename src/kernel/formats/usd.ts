import { makeNumberFormat } from './number-format.ts'

const NANO_CENT = 10_000_000
const cents = makeNumberFormat({ minimumFractionDigits: 2, maximumFractionDigits: 2 })
const underACent = makeNumberFormat({ maximumSignificantDigits: 2 })

/** 10^-9 USD as USD for people: `1,234.56`. Less than a cent has two significant digits: `0.0042`. */
export function writeUsd(nano: number): string {
  return (nano > 0 && nano < NANO_CENT ? underACent : cents)(nano / 1e9)
}

/** As `writeUsd`, with the sign of the dollar: `$1,234.56`. */
export function writeDollars(nano: number): string {
  return `$${writeUsd(nano)}`
}

/** A sum of what calls cost, and how many calls it is of. */
type CostOfCalls = {
  /** In 10^-9 USD; null: no call had a price and a known usage. */
  readonly costNanoUsd: number | null
  readonly calls: number
  /** Calls with unknown usage. A backend that was asked before another one may have such calls only. */
  readonly unknownCalls: number
  readonly unpricedCalls: number
}

/** Writes what calls cost: as `writeDollars`, or in words why that is not known. */
export function writeCost({ costNanoUsd, calls, unknownCalls, unpricedCalls }: CostOfCalls): string {
  if (costNanoUsd !== null) return writeDollars(costNanoUsd)
  if (calls + unknownCalls + unpricedCalls === 0) return writeDollars(0)
  return unpricedCalls > 0 ? 'no price' : 'unknown'
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
