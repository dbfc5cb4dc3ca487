/** What a model costs, in exact integers, so that sums of many calls have no rounding errors. */
import { isKnown, promptTokensOf } from '../dialects/tokens/usage.ts'
import type { Usage } from '../dialects/tokens/usage.ts'
import type { PRICED_TIERS, ServiceTier } from './service-tier.ts'

/** Prices of one token in 10^-15 USD, so that 1 USD for a million tokens is 10^9. */
export type Rates = {
  readonly input: bigint
  readonly cacheRead: bigint
  readonly cacheWrite: bigint
  readonly cacheWriteLong: bigint
  readonly output: bigint
  /** For the part of the output that is reasoning. */
  readonly reasoning: bigint
}

/** Rates by the size of a call. */
export type RateTable = {
  readonly rates: Rates
  /** Rates for all tokens of a call whose input is larger than a number of tokens, in ascending order. */
  readonly tiers: readonly { readonly aboveTokens: number; readonly rates: Rates }[]
}

/** The rates of the standard service tier, and those of others where they are known. */
export type Price = RateTable & { readonly [Tier in (typeof PRICED_TIERS)[number]]?: RateTable }

/** The rates that a price list gives for a model. */
export type GivenRates = Partial<Rates>

/**
 * The price of a cache of an hour, as a multiple of the price of one of 5 minutes, where a list has only the latter:
 * models.dev has no other. It is Anthropic's multiple (2 and 1.25 times the price of input).
 */
const LONG_WRITE = { numerator: 8n, denominator: 5n }

const FEMTO_PER_NANO = 1_000_000n

/** 10^-15 USD for a token is this many decimals of USD for a token, and of USD for a million tokens. */
export const DECIMALS = { token: 15, million: 9 } as const

/** The rates that a price list gives for calls with much input. */
type GivenTier = { readonly aboveTokens: number; readonly rates: GivenRates }

/**
 * Completes the rates of a model. Cached input without a rate of its own costs as much as other input. A tier has the
 * model's base rates where it gives none.
 */
export function toPrice(given: GivenRates, tiers: readonly GivenTier[] = []): RateTable {
  return {
    rates: toRates(given),
    tiers: tiers
      .map(({ aboveTokens, rates }) => ({ aboveTokens, rates: toRates({ ...given, ...rates }) }))
      .toSorted((a, b) => a.aboveTokens - b.aboveTokens),
  }
}

function toRates(given: GivenRates): Rates {
  const { input = 0n, output = 0n, cacheRead = input, cacheWrite, reasoning = output } = given
  const longer = cacheWrite === undefined ? input : (cacheWrite * LONG_WRITE.numerator) / LONG_WRITE.denominator
  const { cacheWriteLong = longer } = given
  return { input, output, cacheRead, cacheWrite: cacheWrite ?? input, cacheWriteLong, reasoning }
}

/**
 * Completes the rates of a service tier. What is missing differs from the standard rates as much as input or output
 * does, because lists often have no more than these two.
 */
export function toTierPrice(standard: RateTable, given: GivenRates, tiers: readonly GivenTier[] = []): RateTable {
  const scaled = scale(standard, given)
  return toPrice({ ...scaled.rates, ...given }, tiers.length > 0 ? tiers : scaled.tiers)
}

function scale({ rates, tiers }: RateTable, { input = rates.input, output = rates.output }: GivenRates): RateTable {
  const asInput = (rate: bigint) => (rates.input === 0n ? rate : (rate * input) / rates.input)
  const asOutput = (rate: bigint) => (rates.output === 0n ? rate : (rate * output) / rates.output)
  const all = (given: Rates): Rates => ({
    input: asInput(given.input),
    cacheRead: asInput(given.cacheRead),
    cacheWrite: asInput(given.cacheWrite),
    cacheWriteLong: asInput(given.cacheWriteLong),
    output: asOutput(given.output),
    reasoning: asOutput(given.reasoning),
  })
  return { rates: all(rates), tiers: tiers.map((tier) => ({ ...tier, rates: all(tier.rates) })) }
}

/** The cost of an answer in 10^-9 USD, rounded once; null when its usage is unknown. */
export function costOfUsage(price: Price, usage: Usage, tier: ServiceTier = 'standard'): number | null {
  if (!isKnown(usage)) return null
  const table = tier === 'standard' ? price : (price[tier] ?? price)
  const { input, cacheRead, cacheWrite, cacheWriteLong, output, reasoning } = chooseRates(table, usage)
  const reasoningTokens = Math.min(usage.reasoningTokens ?? 0, usage.outputTokens ?? 0)
  const femto =
    BigInt(usage.inputTokens ?? 0) * input +
    BigInt(usage.cacheReadTokens ?? 0) * cacheRead +
    BigInt(usage.cacheWriteTokens ?? 0) * cacheWrite +
    BigInt(usage.cacheWriteLongTokens ?? 0) * cacheWriteLong +
    BigInt((usage.outputTokens ?? 0) - reasoningTokens) * output +
    BigInt(reasoningTokens) * reasoning
  return Number((femto + FEMTO_PER_NANO / 2n) / FEMTO_PER_NANO)
}

function chooseRates({ rates, tiers }: RateTable, usage: Usage): Rates {
  const input = promptTokensOf(usage)
  return tiers.findLast(({ aboveTokens }) => input > aboveTokens)?.rates ?? rates
}

/**
 * A decimal number as an integer of 10^-`decimals`, exactly as the number is written: 3e-7 with 15 decimals is
 * 300000000. Further decimals are rounded.
 */
export function toInteger(value: number, decimals: number): bigint {
  const [mantissa = '', exponent = '0'] = String(value).split('e')
  const [whole = '', fraction = ''] = mantissa.split('.')
  const digits = BigInt(whole + fraction)
  const shift = decimals + Number(exponent) - fraction.length
  if (shift >= 0) return digits * 10n ** BigInt(shift)
  const divisor = 10n ** BigInt(-shift)
  return (digits + divisor / 2n) / divisor
}
