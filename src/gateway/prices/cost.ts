import type { ServeEntry } from '../../directory/backends.ts'
import type { GivenUsd, GivenUsdRates } from '../../directory/prices.ts'
import type { DirectoryModel } from '../../directory/rules.ts'
import { BACKEND_KINDS } from '../backends/kinds.ts'
import type { BackendKind } from '../backends/table.ts'
import type { Usage } from '../dialects/tokens/usage.ts'
import { costOfUsage, DECIMALS, toInteger, toPrice, toTierPrice } from './price.ts'
import type { GivenRates, Price } from './price.ts'
import type { PriceList } from './read-prices.ts'
import type { ServiceTier } from './service-tier.ts'

/** What the directory says of a model's price. */
type PricedModel = Pick<DirectoryModel, 'id' | 'owner' | 'price'> & {
  readonly serve: readonly Pick<ServeEntry, 'backend' | 'model' | 'price' | 'pricedAs'>[]
}

/** The backend that served a call, the model's name there, and how fast it was asked to serve. */
type Served = {
  readonly backend: string
  readonly kind: BackendKind
  readonly model: string
  readonly serviceTier: ServiceTier
}

/** The cost of an answer in 10^-9 USD; null when its usage is unknown or the model has no price. */
export type CostOf = (model: PricedModel, served: Served, usage: Usage) => number | null

export type Prices = {
  readonly costOf: CostOf
  /** Replaces the price list, for the next call. */
  replaceList(list: PriceList): void
}

/** The prices of a gateway: those of the directory, and those of a list, which is empty at first. */
export function openPrices(): Prices {
  let list: PriceList = new Map()
  /** The prices of the directory in exact form, as long as the directory keeps them. */
  const exact = new WeakMap<object, Price>()

  function toExact(given: GivenUsd): Price {
    const price = exact.get(given) ?? toGivenPrice(given)
    exact.set(given, price)
    return price
  }

  return {
    costOf(model, served, usage) {
      const entry = findEntry(model, served)
      const given = entry?.price ?? model.price
      const isListed = given === null || given.as !== undefined
      const price = isListed ? findListed(list, given?.as ?? null, entry?.pricedAs ?? model, served) : toExact(given)
      return price && costOfUsage(price, usage, served.serviceTier)
    },
    replaceList: (newList) => void (list = newList),
  }
}

/** The entry of `serve` by which a backend served the model. */
function findEntry({ serve }: PricedModel, { backend, model }: Served): PricedModel['serve'][number] | undefined {
  const entries = serve.filter((entry) => entry.backend === backend)
  return entries.find((entry) => entry.model === model) ?? entries[0]
}

/**
 * The price of the list: by the name that the directory gives, else by the backend, by the owner, by the service's
 * model id, and by the model's name at the backend alone. A list says nothing about an engine of the operator.
 */
function findListed(
  list: PriceList,
  name: string | null,
  { id, owner }: Pick<PricedModel, 'id' | 'owner'>,
  served: Served,
): Price | null {
  if (name !== null) return list.get(name) ?? null
  if (!BACKEND_KINDS[served.kind].hasListPrices) return null
  const { backend, model } = served
  return list.get(`${backend}/${model}`) ?? list.get(`${owner}/${model}`) ?? list.get(id) ?? list.get(model) ?? null
}

function toGivenPrice({ fast, flex, ...standard }: GivenUsd): Price {
  const price = toPrice(toGivenRates(standard))
  return {
    ...price,
    ...(fast && { fast: toTierPrice(price, toGivenRates(fast)) }),
    ...(flex && { flex: toTierPrice(price, toGivenRates(flex)) }),
  }
}

function toGivenRates(given: GivenUsdRates): GivenRates {
  const rates = Object.entries(given).filter(([, value]) => typeof value === 'number')
  return Object.fromEntries(rates.map(([name, value]) => [name, toInteger(value, DECIMALS.million)]))
}
