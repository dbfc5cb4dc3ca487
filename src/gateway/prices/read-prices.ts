/**
 * Reads a price list in the form of models.dev (`api.json`: providers with their models, in USD for a million tokens)
 * or of LiteLLM (`model_prices_and_context_window.json`: models, in USD for one token). Members that are not prices of
 * tokens are ignored, because both lists grow.
 */
import { isObject, parseJson } from '../../kernel/json.ts'
import { readList, readObject } from '../dialects/json/read-json.ts'
import type { Json } from '../dialects/json/read-json.ts'
import { DECIMALS, toInteger, toPrice, toTierPrice } from './price.ts'
import type { GivenRates, Price, Rates, RateTable } from './price.ts'
import { PRICED_TIERS, readServiceTier } from './service-tier.ts'

/** The prices of a list by the names of the models there, as `provider/model` or `model`. */
export type PriceList = ReadonlyMap<string, Price>

/** In USD for a million tokens. The most expensive models cost less than a tenth of it. */
const MAX_PRICE = 10_000

/** Reads a price list. Each mistake names the model and the member. */
export function readPrices(text: string): { readonly prices: PriceList } | { readonly mistakes: readonly string[] } {
  const list = parseJson(text)
  if (!isObject(list)) return { mistakes: ['It is not a JSON object.'] }
  const read = new ListReader()
  const isModelsDev = Object.values(list).some((provider) => isObject(provider) && isObject(provider.models))
  const prices = isModelsDev ? readModelsDev(list, read) : readLiteLlm(list, read)
  if (read.mistakes.length > 0) return { mistakes: read.mistakes }
  if (prices.size === 0) {
    return { mistakes: ['It has no prices of tokens in the form of models.dev or of LiteLLM.'] }
  }
  return { prices }
}

/** Reads rates and collects the mistakes. */
class ListReader {
  readonly mistakes: string[] = []

  /** The rates of the members that are there; null when there is none. */
  rates(model: string, given: Json, names: RateNames, decimals: number, suffix = ''): GivenRates | null {
    const rates: { -readonly [Name in keyof Rates]?: bigint } = {}
    for (const [rate, member] of names) {
      const value = this.#price(model, given, member + suffix, decimals)
      if (value !== null) rates[rate] = toInteger(value, decimals)
    }
    return Object.keys(rates).length === 0 ? null : rates
  }

  #price(model: string, given: Json, member: string, decimals: number): number | null {
    const value = given[member]
    if (value === undefined || value === null) return null
    // LiteLLM has some numbers as text.
    const price = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
    const max = decimals === DECIMALS.million ? MAX_PRICE : MAX_PRICE / 1e6
    if (typeof price === 'number' && price >= 0 && price <= max) return price
    this.mistakes.push(`${JSON.stringify(model)}: ${member} must be a number from 0 to ${max}.`)
    return null
  }
}

type RateNames = readonly (readonly [rate: keyof Rates, member: string])[]

const MODELS_DEV: RateNames = [
  ['input', 'input'],
  ['output', 'output'],
  ['reasoning', 'reasoning'],
  ['cacheRead', 'cache_read'],
  ['cacheWrite', 'cache_write'],
]

/**
 * Models by `provider/model`. A model is also found by its name alone when all of its providers have the same price.
 */
function readModelsDev(list: Json, read: ListReader): PriceList {
  const prices = new Map<string, Price>()
  const byName = new Map<string, Price | null>()
  for (const [provider, { models }] of Object.entries(list).map(([id, value]) => [id, readObject(value)] as const)) {
    for (const [name, model] of Object.entries(readObject(models))) {
      const price = readModelsDevPrice(`${provider}/${name}`, readObject(model), read)
      if (!price) continue
      prices.set(`${provider}/${name}`, price)
      const other = byName.get(name)
      byName.set(name, other === undefined || (other && isSame(other, price)) ? price : null)
    }
  }
  for (const [name, price] of byName) if (price && !prices.has(name)) prices.set(name, price)
  return prices
}

function readModelsDevPrice(name: string, model: Json, read: ListReader): Price | null {
  const standard = readModelsDevTable(name, readObject(model.cost), read)
  if (!standard) return null
  const modes = Object.values(readObject(readObject(model.experimental).modes)).map(readObject)
  const tiers = modes.flatMap(({ cost, provider }) => {
    const tier = readServiceTier(readObject(readObject(provider).body))
    const rates = read.rates(name, readObject(cost), MODELS_DEV, DECIMALS.million)
    return tier !== 'standard' && rates ? [[tier, toTierPrice(standard, rates)] as const] : []
  })
  return { ...standard, ...Object.fromEntries(tiers) }
}

function readModelsDevTable(name: string, cost: Json, read: ListReader): RateTable | null {
  const rates = read.rates(name, cost, MODELS_DEV, DECIMALS.million)
  if (!rates) return null
  const tiers = readList(cost.tiers).flatMap((tier) => {
    const { type, size } = readObject(readObject(tier).tier)
    return type === 'context' && typeof size === 'number' ? [{ aboveTokens: size, given: readObject(tier) }] : []
  })
  // The older form of the same.
  if (tiers.length === 0 && isObject(cost.context_over_200k)) {
    tiers.push({ aboveTokens: 200_000, given: cost.context_over_200k })
  }
  const rated = tiers.flatMap(({ aboveTokens, given }) => {
    const tierRates = read.rates(name, given, MODELS_DEV, DECIMALS.million)
    return tierRates ? [{ aboveTokens, rates: tierRates }] : []
  })
  return toPrice(rates, rated)
}

const LITELLM: RateNames = [
  ['input', 'input_cost_per_token'],
  ['output', 'output_cost_per_token'],
  ['reasoning', 'output_cost_per_reasoning_token'],
  ['cacheRead', 'cache_read_input_token_cost'],
  ['cacheWrite', 'cache_creation_input_token_cost'],
  ['cacheWriteLong', 'cache_creation_input_token_cost_above_1hr'],
]

/** Members of the list that are not models. */
const NOT_MODELS: ReadonlySet<string> = new Set(['sample_spec', 'fallback_generalizations'])

function readLiteLlm(list: Json, read: ListReader): PriceList {
  const prices = new Map<string, Price>()
  for (const [name, value] of Object.entries(list)) {
    if (NOT_MODELS.has(name) || !isObject(value)) continue
    const rates = read.rates(name, value, LITELLM, DECIMALS.token)
    if (rates)
      prices.set(name, readLiteLlmPrice(name, value, toPrice(rates, readLiteLlmSizes(name, value, read)), read))
  }
  return prices
}

/** The suffixes of the members that a service tier has. */
const LITELLM_SUFFIXES = { fast: '_priority', flex: '_flex' } as const

function readLiteLlmPrice(name: string, value: Json, standard: RateTable, read: ListReader): Price {
  const tiers = PRICED_TIERS.flatMap((tier) => {
    const suffix = LITELLM_SUFFIXES[tier]
    const rates = read.rates(name, value, LITELLM, DECIMALS.token, suffix)
    return rates ? [[tier, toTierPrice(standard, rates, readLiteLlmSizes(name, value, read, suffix))] as const] : []
  })
  return { ...standard, ...readLiteLlmFactor(value, standard), ...Object.fromEntries(tiers) }
}

/** Anthropic's fast mode is a factor: `provider_specific_entry: { fast: 2 }`. */
function readLiteLlmFactor(value: Json, standard: RateTable): Pick<Price, 'fast'> {
  const { fast } = readObject(value.provider_specific_entry)
  if (typeof fast !== 'number' || fast <= 0 || fast > MAX_FACTOR) return {}
  const times = (rate: bigint) => (rate * toInteger(fast, FACTOR_DECIMALS)) / 10n ** BigInt(FACTOR_DECIMALS)
  const { input, output } = standard.rates
  return { fast: toTierPrice(standard, { input: times(input), output: times(output) }) }
}

const MAX_FACTOR = 1000
const FACTOR_DECIMALS = 6

/** Calls with much input have the same members with a suffix: `input_cost_per_token_above_200k_tokens`. */
function readLiteLlmSizes(name: string, value: Json, read: ListReader, suffix = '') {
  const sizes = Object.keys(value).flatMap((member) => /_above_(\d+)k_tokens/.exec(member)?.[1] ?? [])
  return [...new Set(sizes)].flatMap((size) => {
    const rates = read.rates(name, value, LITELLM, DECIMALS.token, `_above_${size}k_tokens${suffix}`)
    return rates ? [{ aboveTokens: Number(size) * 1000, rates }] : []
  })
}

function isSame(a: Price, b: Price): boolean {
  return toText(a) === toText(b)
}

function toText(price: Price): string {
  return JSON.stringify(price, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value))
}
