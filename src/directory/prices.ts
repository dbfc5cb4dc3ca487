/** What the directory file says of the price of a model. */
import { z } from 'zod'
import { must, object, text } from './fields.ts'

/** A price in USD for a million tokens, or (`as`) the name of the model in the price file. */
export type GivenPrice = { readonly as: string } | ({ readonly as?: undefined } & GivenUsd)

export type GivenUsd = {
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

const members = object({
  as: text.optional(),
  input: usd,
  output: usd,
  cacheRead: usd,
  cacheWrite: usd,
  cacheWriteLong: usd,
  reasoning: usd,
})

/** The field of a model, and of an entry of its `serve`. */
export const price = members
  .refine(
    isComplete,
    'must have either input and output, in USD for a million tokens, or as, the name of a model in the price file',
  )
  // Cast: `isComplete` holds, and a file has no undefined values, which the type of the schema allows.
  .transform((given) => given as GivenPrice)

function isComplete({ as, ...rates }: z.output<typeof members>): boolean {
  if (as !== undefined) return Object.keys(rates).length === 0
  return rates.input !== undefined && rates.output !== undefined
}
