import { CHAT } from './chat/traits.ts'
import type { Dialect, DialectTraits } from './dialect.ts'
import { MESSAGES } from './messages/traits.ts'
import { RESPONSES } from './responses/traits.ts'

/** The traits of each dialect. */
export const DIALECTS: Readonly<Record<Dialect, DialectTraits>> = {
  chat: CHAT,
  responses: RESPONSES,
  messages: MESSAGES,
}

/**
 * The members of all dialects that limit the tokens of an answer. All of them are limited in every request, because an
 * engine may also read those of another dialect.
 */
export const TOKEN_LIMITS: readonly string[] = [
  ...new Set(Object.values(DIALECTS).flatMap(({ tokenLimits }) => tokenLimits)),
]

/**
 * The members that decide whether and how a call is served, by which backend, and at which price. None may be in a
 * request twice.
 */
export const DECISIVE_MEMBERS: readonly string[] = [
  'model',
  'stream',
  'stream_options',
  'background',
  'deferred',
  'service_tier',
  'speed',
  ...TOKEN_LIMITS,
]
