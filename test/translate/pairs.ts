import type { Dialect } from '../../src/gateway/dialects/dialect.ts'
import { DIALECTS } from '../../src/gateway/dialects/dialects.ts'
import { parseObject } from '../../src/gateway/dialects/json/read-json.ts'
import type { Json } from '../../src/gateway/dialects/json/read-json.ts'
import type { Refusal } from '../../src/gateway/dialects/refusal.ts'
import { translateCall } from '../../src/gateway/dialects/translate.ts'
import type { Translation } from '../../src/gateway/dialects/translate.ts'
import type { TranslationOptions } from '../../src/gateway/dialects/translated-dialect.ts'
import { DIALECT_NAMES } from '../../src/kernel/dialect.ts'
import { countingIds, TRANSLATION } from './streams.ts'

/** Every client dialect with every backend dialect that it is translated for. */
export const PAIRS = DIALECT_NAMES.flatMap((client) =>
  DIALECT_NAMES.filter((backend) => backend !== client).map((backend) => ({ client, backend })),
)

/** As few pairs as have each dialect once as the client's and once as the backend's, for what takes long. */
export const RING = [
  { client: 'chat', backend: 'responses' },
  { client: 'responses', backend: 'messages' },
  { client: 'messages', backend: 'chat' },
] as const

/** A request that says nothing but what each dialect demands. */
const EMPTY: Readonly<Record<Dialect, Json>> = {
  chat: { messages: [] },
  responses: { input: [] },
  messages: { max_tokens: 100, messages: [] },
}

/** What a vendor gets of a request in its own dialect: all but what it has not signed. */
export function withoutUnsigned(dialect: Dialect, bytes: Buffer): Buffer {
  return DIALECTS[dialect].withoutUnsignedContent(bytes, parseObject(bytes.toString()) ?? {})
}

export type Options = Partial<TranslationOptions>

/** A call between two dialects, or why it is refused. */
function tryPair(
  client: Dialect,
  backend: Dialect,
  body: Json,
  options: Options = {},
): Translation | { refused: Refusal } {
  const context = { ...TRANSLATION, backendModel: 'model-1', newId: countingIds() }
  return translateCall(client, backend, { ...EMPTY[client], ...body }, { ...context, ...options })
}

export function pair(client: Dialect, backend: Dialect, body: Json = {}, options: Options = {}): Translation {
  const made = tryPair(client, backend, body, options)
  if ('refused' in made) throw new Error(`refused: ${made.refused.param}: ${made.refused.message}`)
  return made
}

export function refusalOf(client: Dialect, backend: Dialect, body: Json, options: Options = {}): string | null {
  const made = tryPair(client, backend, body, options)
  return 'refused' in made ? made.refused.param : null
}
