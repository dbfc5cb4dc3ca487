/** What the directory file says of backends, of the models that they serve, and of what those models can be asked. */
import { z } from 'zod'
import { teamOfBackend } from '../kernel/backend-name.ts'
import { VERSION_AT_END } from '../kernel/network/backend-url.ts'
import type { SecretSource } from '../kernel/credentials/secret-source.ts'
import { DIALECT_NAMES } from '../kernel/dialect.ts'
import type { Dialect } from '../kernel/dialect.ts'
import { isName } from '../kernel/team-name.ts'
import { list, must, name, object, oneOf, oneOrList, orNull, text, tokens, trueOrFalse } from './fields.ts'
import { price } from './prices.ts'
import type { GivenPrice } from './prices.ts'

/** A server that calls can go to, or the dialects of a backend whose URL is a setting. */
export type DirectoryBackend = {
  readonly name: string
  readonly dialects: readonly Dialect[]
  /** Null for a backend whose URL is a setting. */
  readonly url: string | null
  /** The path of its API at the URL, such as `/v1`, without a slash at the end. Paths of calls are added to it. */
  readonly basePath: string
  /**
   * Where its credential is; null: it needs none. The value itself is never stored. `as`: `bearer`, or the name of the
   * header that carries it.
   */
  readonly credential: (SecretSource & { readonly as: string }) | null
  /** Further headers of each request, by their names in lower case. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** A backend that serves a model, and the model's name there. */
export type ServeEntry = {
  readonly backend: string
  readonly model: string
  /** `offline`: only while no earlier backend of the list can be reached. */
  readonly when: 'always' | 'offline'
  /** Its position in the list. Entries of equal rank are neighbours, over which sessions are spread. */
  readonly rank: number
  /** The share of the sessions that it gets among its neighbours. */
  readonly weight: number
  /** What the model can be asked there, where that differs from the model's `caps`. */
  readonly caps?: GivenCaps | undefined
  /** What the model costs there, where that differs from the model's price. */
  readonly price?: GivenPrice | undefined
  /** The model by which a price list finds the price; absent: the model that has this entry. */
  readonly pricedAs?: { readonly id: string; readonly owner: string }
}

/** An entry as calls use it: its `caps` are merged with those of the model. */
export type SnapshotEntry = ServeEntry & { readonly caps: GivenCaps }

/** What a model can be asked. What is left out has the cautious value of the backend's dialect. */
export type GivenCaps = { readonly [Name in keyof Caps]?: Exclude<Caps[Name], undefined> }

const url = z
  .string(must('text'))
  .refine(
    (given) => isBackendUrl(given, ['http:', 'https:']),
    'must be an http:// or https:// URL without credentials, query and fragment, and without the /v1 at its end',
  )

/** Whether a text is the URL of a backend, with one of these protocols and nothing that a call would replace. */
export function isBackendUrl(given: string, protocols: readonly string[]): boolean {
  if (!URL.canParse(given)) return false
  const { protocol, username, password, search, hash, pathname } = new URL(given)
  return protocols.includes(protocol) && !(username || password || search || hash) && !VERSION_AT_END.test(pathname)
}

export const basePath = z
  .string(must('text'))
  .regex(/^\/$|^(\/(?!\.{1,2}(\/|$))[\w.~-]+)+\/?$/, 'must be a path such as /v1beta/openai')
  .nullish()
  .transform((given) => given?.replace(/\/$/, '') ?? '/v1')

/** The end of vendors' addresses whose version is not `/v1`, such as `/api/paas/v4` and `/v1beta/openai`. */
const OTHER_VERSION_AT_END = /[^/]\/v\d+((alpha|beta)\d*)?(\/openai)?\/*$/

/** Whether the path of an API has at most one version: after a URL with another one, calls would go to `/v4/v1`. */
export function hasOneVersion(address: { readonly url: string | null; readonly basePath: string }): boolean {
  return address.basePath !== '/v1' || !OTHER_VERSION_AT_END.test(address.url ?? '')
}

export const SECOND_VERSION = {
  path: ['url'],
  message: 'must not end in a version: calls would go to /v1 after it. Move the path to basePath, such as /api/v4',
}

const variable = z.string(must('text')).regex(/^[A-Za-z_]\w*$/, 'must be the name of an environment variable')

/** The headers that the gateway or its HTTP client sets. Others that they set have no hyphen in their name. */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  'accept-encoding',
  'content-encoding',
  'content-length',
  'content-type',
  'keep-alive',
  'transfer-encoding',
])

const headerName = z
  .string(must('text'))
  .regex(/^[A-Za-z][A-Za-z0-9]*(-[A-Za-z0-9]+)+$/, 'must be the name of a header, such as x-api-key')
  .max(64, 'must have at most 64 characters')
  .toLowerCase()
  .refine((given) => !OWN_HEADERS.has(given), 'must be another header, because the gateway sets this one')

const headerValue = z
  .string(must('text'))
  .regex(/^[\x21-\x7e]([\x20-\x7e]{0,998}[\x21-\x7e])?$/, 'must have 1 to 1000 printable ASCII characters')

const headers = z
  .record(headerName, headerValue, {
    error: (issue) =>
      issue.code === 'invalid_key' ? issue.issues[0]?.message : 'must be a mapping of names and texts',
  })
  .default({})

const credential = object({
  env: orNull(variable),
  file: orNull(z.string(must('text')).min(1, 'must not be empty')),
  as: z
    .string(must('text'))
    .refine(
      (given) => given === 'bearer' || headerName.safeParse(given).success,
      'must be bearer, or the name of a header such as x-api-key',
    )
    .toLowerCase()
    .default('bearer'),
}).refine(({ env, file }) => (env === null) !== (file === null), 'must have either env or file')

export const backend = object({
  name,
  dialects: list(oneOf(DIALECT_NAMES)).min(1, 'must name at least one dialect'),
  url: orNull(url),
  basePath,
  credential: orNull(credential),
  headers,
}).refine(hasOneVersion, SECOND_VERSION)

/** The members of `ModelCaps` in the gateway's dialects. */
const capsMembers = object({
  midSystem: trueOrFalse,
  sampling: trueOrFalse,
  topK: trueOrFalse,
  prefill: trueOrFalse,
  thinking: oneOf(['adaptive', 'budget', 'none']),
  efforts: list(oneOf(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'])),
  effortHints: trueOrFalse,
  maxOutput: tokens,
  limitName: oneOf(['max_tokens', 'max_completion_tokens']),
  strictTools: trueOrFalse,
  schemaLimits: trueOrFalse,
  formatSchemas: trueOrFalse,
  images: trueOrFalse,
  pdf: trueOrFalse,
  audio: trueOrFalse,
  cacheMarks: oneOf(['none', 'explicit', 'automatic']),
  customTools: trueOrFalse,
  namedChoice: trueOrFalse,
  hostedSearch: trueOrFalse,
  reasoningReplay: oneOf(['required', 'accepted', 'refused']),
  unsignedCalls: trueOrFalse,
  reasoningSummaries: trueOrFalse,
  strictHistory: trueOrFalse,
  strictContent: trueOrFalse,
  vendorHints: trueOrFalse,
  userHint: trueOrFalse,
  streamUsage: trueOrFalse,
  blockBinding: trueOrFalse,
  betas: trueOrFalse,
})

type Caps = z.output<typeof capsMembers>

const someCaps = capsMembers
  .partial()
  // Cast: a file has no undefined values, which the type of the schema allows.
  .transform((given) => given as GivenCaps)

export const caps = someCaps.default({})

const weight = z.int(must('a whole number')).min(1, 'must be at least 1').max(1000, 'must be at most 1000').default(1)

/** The most backends that can serve one model. The arrays of the contract's forms and requests have the same limit. */
export const MAX_SERVING_BACKENDS = 32

/** Each entry is a backend, or a list of neighbours. */
function serveOf(backendName: z.ZodType<string>) {
  const when = oneOf(['always', 'offline']).default('always')
  const served = object({
    backend: backendName,
    model: text,
    when,
    weight,
    caps: someCaps.optional(),
    price: price.optional(),
  })
  return list(oneOrList(served))
    .default([])
    .transform((items): readonly ServeEntry[] =>
      items.flatMap((neighbours, rank) => neighbours.map((entry) => ({ ...entry, rank }))),
    )
    .refine(
      (entries) => entries.length <= MAX_SERVING_BACKENDS,
      `must name at most ${MAX_SERVING_BACKENDS} backends, neighbours included`,
    )
}

/** What serves a model of the directory file. */
export const serve = serveOf(name)

/** What serves a model of an admin: also backends of admins, whose names are `organization/team/name`. */
export const adminServe = serveOf(
  z
    .string(must('text'))
    .refine((given) => isName(given) || teamOfBackend(given) !== null, 'must be the name of a backend'),
)
