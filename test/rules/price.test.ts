import { describe, expect, it } from 'vitest'
import { openPrices } from '../../src/gateway/prices/cost.ts'
import { costOfUsage, toInteger, toPrice, toTierPrice } from '../../src/gateway/prices/price.ts'
import { readPrices } from '../../src/gateway/prices/read-prices.ts'
import type { PriceList } from '../../src/gateway/prices/read-prices.ts'
import { readServiceTier, toServedTier } from '../../src/gateway/prices/service-tier.ts'
import { NO_USAGE } from '../../src/gateway/dialects/tokens/usage.ts'
import type { Usage } from '../../src/gateway/dialects/tokens/usage.ts'

const usageOf = (given: Partial<Usage>): Usage => ({ ...NO_USAGE, ...given })
const usd = (perMillion: number) => toInteger(perMillion, 9)

/** A model with every class of its own price, which costs twice as much above 200,000 tokens of input. */
const PRICE = toPrice(
  {
    input: usd(3),
    cacheRead: usd(0.3),
    cacheWrite: usd(3.75),
    cacheWriteLong: usd(6),
    output: usd(15),
    reasoning: usd(20),
  },
  [{ aboveTokens: 200_000, rates: { input: usd(6), output: usd(22.5) } }],
)

describe('decimal numbers as exact integers', () => {
  it.each([
    [3e-7, 15, 300_000_000n],
    [0.0375, 9, 37_500_000n],
    [15, 9, 15_000_000_000n],
    [0, 9, 0n],
    [1.25e-6, 15, 1_250_000_000n],
    [1.234567895e-7, 15, 123_456_790n],
    [1e21, 9, 10n ** 30n],
  ])('%s with %d decimals', (value, decimals, expected) => {
    expect(toInteger(value, decimals)).toBe(expected)
  })
})

describe('the cost of an answer', () => {
  it.each<[string, Partial<Usage>, number | null]>([
    ['one token of input', { inputTokens: 1 }, 3_000],
    ['each class at its own price', allClasses(), 3_000 + 2 * 300 + 3 * 3_750 + 4 * 6_000 + 3 * 15_000 + 2 * 20_000],
    ['less than 10^-9 USD, rounded', { inputTokens: 0, cacheReadTokens: 0, outputTokens: 0 }, 0],
    ['input at the limit of a tier', { inputTokens: 200_000, outputTokens: 1 }, 600_000_000 + 15_000],
    ['input above it, with the cache', { inputTokens: 1, cacheReadTokens: 200_000 }, 6_000 + 200_000 * 300],
    ['output above it', { inputTokens: 200_001, outputTokens: 2 }, 200_001 * 6_000 + 45_000],
    ['more reasoning than output, as output', { outputTokens: 1, reasoningTokens: 9 }, 20_000],
    ['an unknown usage as unknown', {}, null],
    ['a usage without input and output as unknown', { cacheReadTokens: 5 }, null],
  ])('counts %s', (_, usage, cost) => {
    expect(costOfUsage(PRICE, usageOf(usage))).toBe(cost)
  })

  it('is rounded once, half up, and not for each class', () => {
    const price = toPrice({ input: 400_000n, output: 400_000n })
    expect(costOfUsage(price, usageOf({ inputTokens: 1, outputTokens: 0 }))).toBe(0)
    expect(costOfUsage(price, usageOf({ inputTokens: 1, outputTokens: 1 }))).toBe(1)
  })

  it('is exact for the largest numbers that a call can have', () => {
    const tokens = 0x7fff_ffff
    expect(costOfUsage(toPrice({ input: usd(0.1) }), usageOf({ inputTokens: tokens }))).toBe(tokens * 100)
  })

  it('uses the price of input for a cache without a price, and 1.6 times a short cache for a long one', () => {
    expect(toPrice({ input: usd(2), output: usd(8) }).rates).toEqual({
      input: usd(2),
      cacheRead: usd(2),
      cacheWrite: usd(2),
      cacheWriteLong: usd(2),
      output: usd(8),
      reasoning: usd(8),
    })
    expect(toPrice({ input: usd(3), cacheWrite: usd(3.75) }).rates.cacheWriteLong).toBe(usd(6))
  })
})

describe('the cost of a call of another service tier', () => {
  const table = toPrice({ input: usd(4), output: usd(20), cacheRead: usd(0.4), reasoning: usd(30) }, [
    { aboveTokens: 10, rates: { input: usd(8), output: usd(40) } },
  ])
  const usage = usageOf({ inputTokens: 1, cacheReadTokens: 1, outputTokens: 2, reasoningTokens: 1 })

  it('has its rates, where they are known', () => {
    const price = { ...table, fast: toTierPrice(table, { input: usd(8), output: usd(30), cacheRead: usd(1) }) }
    expect(costOfUsage(price, usage)).toBe(4_000 + 400 + 20_000 + 30_000)
    expect(costOfUsage(price, usage, 'fast')).toBe(8_000 + 1_000 + 30_000 + 45_000)
    expect(costOfUsage(price, usage, 'flex')).toBe(costOfUsage(price, usage))
  })

  it('has missing rates in proportion, and those of calls with much input', () => {
    const { rates, tiers } = toTierPrice(table, { input: usd(2), output: usd(10) })
    expect(rates).toMatchObject({ cacheRead: usd(0.2), reasoning: usd(15), cacheWrite: usd(2) })
    expect(tiers).toMatchObject([{ aboveTokens: 10, rates: { input: usd(4), output: usd(20) } }])
  })

  it('is that of a model which costs nothing, where only the tier costs something', () => {
    const free = toPrice({ input: 0n, output: 0n })
    expect(toTierPrice(free, { input: usd(1) }).rates).toMatchObject({ input: usd(1), output: 0n, cacheRead: 0n })
  })
})

it.each([
  [{ speed: 'fast' }, 'fast'],
  [{ service_tier: 'priority' }, 'fast'],
  [{ service_tier: 'fast' }, 'fast'],
  [{ service_tier: 'flex' }, 'flex'],
  [{ service_tier: 'auto' }, 'standard'],
  [{ service_tier: 'standard_only', speed: 'standard' }, 'standard'],
  [{}, 'standard'],
] as const)('a request with %j asks for the service tier %s', (body, tier) => {
  expect(readServiceTier(body)).toBe(tier)
})

it.each([
  ['flex', 'default', 'standard'],
  ['fast', 'standard', 'standard'],
  ['fast', 'priority', 'fast'],
  ['flex', 'auto', 'flex'],
  ['flex', null, 'flex'],
  ['standard', 'priority', 'standard'],
] as const)('a call that asks for %s and is served as %s has the price of the tier %s', (asked, word, tier) => {
  expect(toServedTier(asked, word)).toBe(tier)
})

function allClasses(): Partial<Usage> {
  return {
    inputTokens: 1,
    cacheReadTokens: 2,
    cacheWriteTokens: 3,
    cacheWriteLongTokens: 4,
    outputTokens: 5,
    reasoningTokens: 2,
  }
}

const MODELS_DEV = {
  openai: {
    id: 'openai',
    models: {
      'gpt-5.5': {
        id: 'gpt-5.5',
        cost: {
          input: 5,
          output: 30,
          cache_read: 0.5,
          tiers: [{ input: 10, output: 45, cache_read: 1, tier: { type: 'context', size: 272_000 } }],
          context_over_200k: { input: 10, output: 45, cache_read: 1 },
        },
      },
      shared: { id: 'shared', cost: { input: 1, output: 2 } },
      same: { id: 'same', cost: { input: 1, output: 2 } },
      free: { id: 'free', cost: { input: 0, output: 0 } },
      'no-price': { id: 'no-price' },
    },
  },
  azure: {
    id: 'azure',
    models: { shared: { cost: { input: 2, output: 2 } }, same: { cost: { input: 1, output: 2 } } },
  },
  google: {
    id: 'google',
    models: { older: { cost: { input: 2, output: 10, context_over_200k: { input: 3, output: 15 } } } },
  },
}

const LITELLM = {
  sample_spec: { input_cost_per_token: 'a price', litellm_provider: 'a name' },
  'claude-large': {
    litellm_provider: 'anthropic',
    input_cost_per_token: 3e-6,
    output_cost_per_token: '1.5e-05',
    cache_read_input_token_cost: 3e-7,
    cache_creation_input_token_cost: 3.75e-6,
    cache_creation_input_token_cost_above_1hr: 6e-6,
    input_cost_per_token_above_200k_tokens: 6e-6,
    output_cost_per_token_above_200k_tokens: 2.25e-5,
    cache_creation_input_token_cost_above_1hr_above_200k_tokens: 1.2e-5,
    supports_vision: true,
  },
  'azure/thinker': { input_cost_per_token: 1e-6, output_cost_per_token: 2e-6, output_cost_per_reasoning_token: 3e-6 },
  'an-image-model': { output_cost_per_image: 0.04 },
}

function listOf(content: object): PriceList {
  const read = readPrices(JSON.stringify(content))
  if ('mistakes' in read) throw new Error(read.mistakes.join('\n'))
  return read.prices
}

describe('a price list', () => {
  it('in the form of models.dev has tiers, and names without provider where all providers have one price', () => {
    const prices = listOf(MODELS_DEV)
    expect([...prices.keys()].toSorted()).toEqual([
      'azure/same',
      'azure/shared',
      'free',
      'google/older',
      'gpt-5.5',
      'older',
      'openai/free',
      'openai/gpt-5.5',
      'openai/same',
      'openai/shared',
      'same',
    ])
    expect(prices.get('openai/gpt-5.5')?.rates).toMatchObject({
      input: usd(5),
      cacheRead: usd(0.5),
      cacheWrite: usd(5),
    })
    expect(prices.get('openai/gpt-5.5')?.tiers).toMatchObject([{ aboveTokens: 272_000, rates: { output: usd(45) } }])
    expect(prices.get('older')?.tiers).toMatchObject([{ aboveTokens: 200_000, rates: { input: usd(3) } }])
  })

  it('in the form of LiteLLM has tiers, caches of an hour and reasoning', () => {
    const prices = listOf(LITELLM)
    expect([...prices.keys()]).toEqual(['claude-large', 'azure/thinker'])
    expect(prices.get('claude-large')).toEqual({
      rates: {
        input: usd(3),
        cacheRead: usd(0.3),
        cacheWrite: usd(3.75),
        cacheWriteLong: usd(6),
        output: usd(15),
        reasoning: usd(15),
      },
      tiers: [
        {
          aboveTokens: 200_000,
          rates: {
            input: usd(6),
            cacheRead: usd(0.3),
            cacheWrite: usd(3.75),
            cacheWriteLong: usd(12),
            output: usd(22.5),
            reasoning: usd(22.5),
          },
        },
      ],
    })
    expect(prices.get('azure/thinker')?.rates.reasoning).toBe(usd(3))
  })

  it('in the form of models.dev has the modes of a model as service tiers', () => {
    const mode = (cost: object, body: object) => ({ cost, provider: { body } })
    const modes = {
      fast: mode({ input: 10, output: 50 }, { speed: 'fast' }),
      slow: mode({ input: 2.5, output: 12.5 }, { service_tier: 'flex' }),
      other: mode({ input: 1, output: 1 }, { quality: 'low' }),
    }
    const model = { cost: { input: 5, output: 25, cache_read: 0.5 }, experimental: { modes } }
    const price = listOf({ anthropic: { models: { best: model } } }).get('anthropic/best')
    expect(price?.rates).toMatchObject({ input: usd(5), output: usd(25) })
    expect(price?.fast?.rates).toMatchObject({ input: usd(10), output: usd(50), cacheRead: usd(1) })
    expect(price?.flex?.rates).toMatchObject({ input: usd(2.5), cacheRead: usd(0.25) })
  })

  it('in the form of LiteLLM has service tiers, as members with a suffix or as a factor', () => {
    const prices = listOf({
      gpt: {
        input_cost_per_token: 2e-6,
        output_cost_per_token: 8e-6,
        cache_read_input_token_cost: 5e-7,
        input_cost_per_token_priority: 4e-6,
        output_cost_per_token_priority: 1.6e-5,
        input_cost_per_token_flex: 1e-6,
        output_cost_per_token_flex: 4e-6,
        input_cost_per_token_above_272k_tokens: 4e-6,
        input_cost_per_token_above_272k_tokens_priority: 7e-6,
      },
      claude: { input_cost_per_token: 5e-6, output_cost_per_token: 2.5e-5, provider_specific_entry: { fast: 2.5 } },
    })
    expect(prices.get('gpt')).toMatchObject({
      rates: { input: usd(2) },
      tiers: [{ aboveTokens: 272_000, rates: { input: usd(4) } }],
      fast: {
        rates: { input: usd(4), output: usd(16), cacheRead: usd(1) },
        tiers: [{ aboveTokens: 272_000, rates: { input: usd(7), output: usd(16) } }],
      },
      flex: { rates: { input: usd(1) }, tiers: [{ aboveTokens: 272_000, rates: { input: usd(2) } }] },
    })
    expect(prices.get('claude')?.fast?.rates).toMatchObject({ input: usd(12.5), output: usd(62.5) })
  })

  it.each([
    ['text that is not JSON', '{', 'It is not a JSON object.'],
    ['a list', '[]', 'It is not a JSON object.'],
    ['no prices', '{"a":{"b":1}}', 'It has no prices of tokens in the form of models.dev or of LiteLLM.'],
    [
      'a negative price',
      '{"m":{"input_cost_per_token":-1}}',
      '"m": input_cost_per_token must be a number from 0 to 0.01.',
    ],
    [
      'words',
      '{"p":{"models":{"m":{"cost":{"input":"free","output":1}}}}}',
      '"p/m": input must be a number from 0 to 10000.',
    ],
    [
      'USD for a million tokens where one token is meant',
      '{"m":{"output_cost_per_token":15}}',
      '"m": output_cost_per_token must be a number from 0 to 0.01.',
    ],
  ])('names the mistake: %s', (_, text, mistake) => {
    expect(readPrices(text)).toEqual({ mistakes: [mistake] })
  })
})

describe('the price of a call', () => {
  const million = usageOf({ inputTokens: 1_000_000, outputTokens: 0 })
  const model = { id: 'svc/best', owner: 'openai', price: null, serve: [] }
  const cost = (given: object, served: object, list: object = LIST) => {
    const prices = openPrices()
    prices.replaceList(listOf(list))
    const backend = { backend: 'vendora', kind: 'vendor', model: 'm', serviceTier: 'standard', ...served } as const
    return prices.costOf({ ...model, ...given }, backend, million)
  }
  const LIST = {
    'vendora/m': { input_cost_per_token: 1e-6 },
    'openai/n': { input_cost_per_token: 2e-6 },
    'svc/best': { input_cost_per_token: 3e-6 },
    'openai/x': { input_cost_per_token: 5e-6 },
  }
  const USD = 1_000_000_000
  const FAST = { input: 7, output: 0, fast: { input: 9, output: 0 } }

  it.each<[string, object, object, number | null]>([
    ['by the backend and the name there', {}, {}, USD],
    ['by the owner and the name there', {}, { model: 'n' }, 2 * USD],
    ['by the model id of the service', {}, { model: 'other' }, 3 * USD],
    ['unknown without any of them', { id: 'svc/other' }, { model: 'other' }, null],
    ['by the name that the directory gives', { price: { as: 'openai/x' } }, {}, 5 * USD],
    ['unknown where the list lacks that name', { price: { as: 'openai/y' } }, {}, null],
    ['of the directory before the list', { price: { input: 7, output: 0 } }, {}, 7 * USD],
    [
      'of the backend before the model',
      { price: { input: 7, output: 0 }, serve: [{ backend: 'vendora', price: { input: 8, output: 0 } }] },
      {},
      8 * USD,
    ],
    [
      'of the model where another backend has its own',
      { price: { input: 7, output: 0 }, serve: [{ backend: 'vendorb', price: { input: 8, output: 0 } }] },
      {},
      7 * USD,
    ],
    [
      'of the entry for the name there, where a backend serves two models of an admin',
      {
        serve: [
          { backend: 'vendora', model: 'cheap', price: { input: 1, output: 0 } },
          { backend: 'vendora', model: 'm', price: { input: 9, output: 0 } },
        ],
      },
      {},
      9 * USD,
    ],
    [
      'by the model of the file that a model of an admin is made of',
      {
        id: 'acme/core/own',
        serve: [{ backend: 'vendora', model: 'other', pricedAs: { id: 'svc/best', owner: 'openai' } }],
      },
      { model: 'other' },
      3 * USD,
    ],
    ['of the service tier that the directory has', { price: FAST }, { serviceTier: 'fast' }, 9 * USD],
    [
      'standard where the directory has no price of the service tier',
      { price: FAST },
      { serviceTier: 'flex' },
      7 * USD,
    ],
    ['unknown at an engine of the operator', {}, { kind: 'engine' }, null],
    ['of the directory at an engine too', { price: { input: 0, output: 0 } }, { kind: 'engine' }, 0],
  ])('is %s', (_, given, served, expected) => {
    expect(cost(given, served)).toBe(expected)
  })

  it('follows a new list', () => {
    const prices = openPrices()
    const served = { backend: 'vendora', kind: 'vendor', model: 'm', serviceTier: 'standard' } as const
    expect(prices.costOf(model, served, million)).toBe(null)
    prices.replaceList(listOf(LIST))
    expect(prices.costOf(model, served, million)).toBe(USD)
  })
})
