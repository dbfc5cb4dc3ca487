import type { Request, RequestHandler } from 'express'
import { ApiError, ERRORS } from '../errors.ts'

/** What the validator passes to `next`: an Error with a status, and for status 400 the list of mistakes. */
type ValidatorError = Error & {
  readonly status: number
  readonly errors?: readonly Mistake[]
}

type Mistake = { readonly path: string; readonly message: string }

/** Says in words, for each pattern, what a text must be to match it. */
export type PatternWords = ReadonlyMap<string, string>

/** Runs a step of the validator and passes its errors on as `ApiError`s. */
export function withApiErrors(step: RequestHandler, words: PatternWords): RequestHandler {
  return (req, res, next) =>
    step(req, res, (error?: unknown) => next(isValidatorError(error) ? toApiError(error, req, words) : error))
}

/** Finds the words of each pattern in a part of the contract, where they are the extension `x-must-be`. */
export function findPatternWords(part: unknown, given?: unknown): [pattern: string, words: string][] {
  if (typeof part !== 'object' || part === null) return []
  // The words of a parameter are beside its schema.
  const { pattern, 'x-must-be': words = given } = part as { pattern?: unknown; 'x-must-be'?: unknown }
  const inner = Object.values(part).flatMap((value) => findPatternWords(value, words))
  return typeof pattern === 'string' && typeof words === 'string' ? [[pattern, words], ...inner] : inner
}

function isValidatorError(error: unknown): error is ValidatorError {
  return error instanceof Error && 'status' in error && typeof error.status === 'number'
}

function toApiError(error: ValidatorError, req: Request, words: PatternWords): Error {
  switch (error.status) {
    case 400:
      return new ApiError('invalid_request', { message: toMessage(error, words), cause: error })
    case 415:
      return new ApiError('unsupported_media_type', { message: toReadableTypes(req) })
    default:
      return error
  }
}

const NO_ALTERNATIVE = 'must match a schema in anyOf'

/** Names each field that is wrong, once. */
function toMessage({ errors = [] }: ValidatorError, words: PatternWords): string {
  const alternatives = new Set(errors.filter(({ message }) => message === NO_ALTERNATIVE).map(({ path }) => path))
  // Where a value has the type of one alternative, only the mistakes inside of it are named.
  const isSaid = (at: string) => alternatives.has(at) && errors.some(({ path }) => path.startsWith(`${at}/`))
  const mistakes = errors.filter(({ path, message }) => message !== NO_ALTERNATIVE && !isSaid(path))
  if (mistakes.length === 0) return ERRORS.invalid_request.message
  const texts = [...Map.groupBy(mistakes, ({ path }) => path)].map(([path, own]) => {
    const said = [...new Set(own.map(({ message }) => reword(message, words)))]
    // A number that is not whole is not "a whole number of 32 bits" either.
    const told = said.filter((text) => !said.some((other) => text.startsWith(`${other} of `)))
    return `${nameOf(path)} ${told.join(alternatives.has(path) ? ' or ' : ' and ')}`
  })
  return `${texts.join('; ').replace(/^t/, 'T')}.`
}

/** What the client sent: `/body/email` is its field `email`, and `/query/limit` is the query parameter `limit`. */
function nameOf(path: string): string {
  const [, where = '', ...names] = path.split('/')
  const name = names.join('.')
  return where === 'body' && name === '' ? 'the body' : `the ${PARTS.get(where) ?? 'field'} ${name}`
}

function reword(message: string, words: PatternWords): string {
  const said = message
    .replace(/^must be ([a-z,]+)$/, (_all, types: string) => `must be ${toTypes(types)}`)
    .replace(/^must match pattern "(.*)"$/, (raw, pattern: string) => {
      const meaning = words.get(pattern)
      return meaning === undefined ? raw : `must be ${meaning}`
    })
  return REWORDED.reduce((reworded, [pattern, better]) => reworded.replace(pattern, better), said)
}

/** What people call the parts of a request, by the library's names. */
const PARTS: ReadonlyMap<string, string> = new Map([
  ['query', 'query parameter'],
  ['params', 'path parameter'],
  ['headers', 'header'],
  ['cookies', 'cookie'],
])

/** The types that a value may have: `string,null` is `a text or null`. */
function toTypes(types: string): string {
  return types
    .split(',')
    .map((type) => TYPES.get(type) ?? type)
    .join(' or ')
}

const TYPES: ReadonlyMap<string, string> = new Map([
  ['string', 'a text'],
  ['object', 'an object'],
  ['array', 'a list'],
  ['number', 'a number'],
  ['integer', 'a whole number'],
  ['boolean', 'true or false'],
])

/** The validator's words, and those that people read instead. */
const REWORDED: readonly (readonly [RegExp, string])[] = [
  [/^must have required property '.*'$/, 'is missing'],
  [/^must NOT have additional properties$/, 'is not part of this request'],
  [/^must NOT have fewer than 1 (characters|items)$/, 'must not be empty'],
  [/^must NOT have fewer than (\d+) (characters|items)$/, 'must have at least $1 $2'],
  [/^must NOT have more than (\d+) (characters|items)$/, 'must have at most $1 $2'],
  [/^must be equal to one of the allowed values: /, 'must be one of '],
  [/^must be <= /, 'must be at most '],
  [/^must be >= /, 'must be at least '],
  [/^must match format "int(32|64)"$/, 'must be a whole number of $1 bits'],
  [/^must match format "uuid"$/, 'must be a UUID'],
  [/^must match format "date"$/, 'must be a day such as 2026-11-26'],
  [/^must match format "date-time"$/, 'must be a time such as 2026-11-26T09:00:00Z'],
]

function toReadableTypes(req: Request): string {
  const types = Object.keys(req.operation?.requestBody?.content ?? {})
  return `Send the body as ${types.join(' or ') || 'application/json'}, in UTF-8.`
}
