import type { ModelCaps } from '../caps.ts'
import type { RequestRetry } from '../dialect.ts'
import { renameMember, scanTopLevel } from '../json/edit-json.ts'

type LimitName = ModelCaps['limitName']

/** Vendors have one of two names for the token limit of a chat request. */
export const OTHER_NAME: Readonly<Record<LimitName, LimitName>> = {
  max_tokens: 'max_completion_tokens',
  max_completion_tokens: 'max_tokens',
}
const NAMES: readonly LimitName[] = ['max_tokens', 'max_completion_tokens']
/** The names of the token limit in all dialects. A translated request has a limit where the caller's has one. */
const CALLER_NAMES = [...NAMES, 'max_output_tokens']

/** How OpenAI's models that reason, Mistral, and old servers refuse one of the names. */
const REFUSED = new RegExp(
  [
    "'max_tokens' is not supported with this model",
    '"body",\\s*"max_completion_tokens"',
    'unrecognized request argument supplied: max_completion_tokens',
  ].join('|'),
  'i',
)

/**
 * A client such as opencode has one name for the token limit, whichever model it calls, and some models refuse it. The
 * request is then repeated with the other name, which later requests for the model get at once.
 */
export const LIMIT_NAME_RETRY: RequestRetry = {
  mayHelp: (_request, body) => CALLER_NAMES.some((name) => name in body),
  isRefused: (error) => REFUSED.test(error),
  toAccepted(request) {
    const [given, ...others] = limitNamesOf(request)
    return given && others.length === 0 ? renameMember(request, given, OTHER_NAME[given]) : null
  },
  learn(changed) {
    const [limitName] = limitNamesOf(changed)
    return limitName ? { limitName } : {}
  },
}

function limitNamesOf(request: Buffer): LimitName[] {
  const members = scanTopLevel(request)?.members
  return NAMES.filter((name) => members?.has(name))
}
