import { CHAT } from './chat/traits.ts'
import type { Dialect, DialectTraits } from './dialect.ts'
import { MESSAGES } from './messages/traits.ts'
import { RESPONSES } from './responses/traits.ts'

/** What is known of each dialect. */
export const DIALECTS: Readonly<Record<Dialect, DialectTraits>> = {
  chat: CHAT,
  responses: RESPONSES,
  messages: MESSAGES,
}

/**
 * Every member of a request, in any dialect, that limits the tokens of its answer: an engine may read another dialect's
 * too.
 */
export const TOKEN_LIMITS: readonly string[] = [
  ...new Set(Object.values(DIALECTS).flatMap(({ tokenLimits }) => tokenLimits)),
]

/** The members that decide who serves a call and how; two readers must not disagree about them. */
export const DECISIVE_MEMBERS: readonly string[] = ['model', 'stream', ...TOKEN_LIMITS]
