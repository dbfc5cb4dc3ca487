/** What the directory file says of the price of a model. */
import { z } from 'zod'
import { must, object, text } from './fields.ts'

/** A price in USD for a million tokens, or (`as`) the name of the model in the price file. */
export type GivenPrice = { readonly as: string } | ({ readonly as?: undefined } & GivenUsd)

/** A price in USD, and those of the vendor's service tiers where they differ. */
export type GivenUsd = GivenUsdRates & { readonly fast?: GivenUsdRates; readonly flex?: GivenUsdRates }

export type GivenUsdRates = {
  readonly input: number
  readonly output: number
  readonly cacheRead?: number
  readonly cacheWrite?: number
  readonly cacheWriteLong?: number
  readonly reasoning?: number
}

const MAX_USD = 10_000

const usd = z
  .number(must('a number of USD for a million tokens'))
  .min(0, 'must be at least 0')
  .max(MAX_USD, `must be at most ${MAX_USD}`)
  .optional()

const rates = { input: usd, output: usd, cacheRead: usd, cacheWrite: usd, cacheWriteLong: usd, reasoning: usd }

const tier = object(rates).refine(hasBoth, 'must have input and output, in USD for a million tokens').optional()

const members = object({ as: text.optional(), ...rates, fast: tier, flex: tier })

/** The field of a model, and of an entry of its `serve`. */
export const price = members
  .refine(
    isComplete,
    'must have either input and output, in USD for a million tokens, or as, the name of a model in the price file',
  )
  // Cast: `isComplete` holds, and a file has no undefined values, which the type of the schema allows.
  .transform((given) => given as GivenPrice)

function isComplete({ as, ...others }: z.output<typeof members>): boolean {
  return as === undefined ? hasBoth(others) : Object.keys(others).length === 0
}

function hasBoth({ input, output }: { readonly input?: number | undefined; readonly output?: number | undefined }) {
  return input !== undefined && output !== undefined
}
