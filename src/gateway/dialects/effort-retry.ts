import type { RequestRetry } from './dialect.ts'
import { removeMembers, scanTopLevel } from './json/edit-json.ts'

/** The members of the dialects that ask for reasoning. A translated request asks for it where the caller's does. */
const CALLER_MEMBERS = ['reasoning_effort', 'reasoning', 'thinking', 'output_config']

/** How OpenAI's models that cannot reason, models of xAI, and Mistral refuse an effort. */
const REFUSED = new RegExp(
  [
    "'reasoning(_effort|\\.effort|\\.summary)' is not supported with this model",
    'argument supplied: reasoning',
    'does not support parameter reasoning_?effort',
    '"body",\\s*"reasoning_effort"',
  ].join('|'),
  'i',
)

/**
 * Some models refuse to be told how much to reason: they cannot reason, or always do. An agent that does not know the
 * model asks for an effort in every call. `member`: what asks for it in the dialect.
 */
export function makeEffortRetry(member: string): RequestRetry {
  return {
    mayHelp: (_request, body) => CALLER_MEMBERS.some((name) => name in body),
    isRefused: (error) => REFUSED.test(error),
    toAccepted: (request) => (scanTopLevel(request)?.members.has(member) ? removeMembers(request, [member]) : null),
    learn: () => ({ efforts: [] }),
  }
}
