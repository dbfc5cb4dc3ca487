import type { ModelCaps } from '../caps.ts'
import type { RequestRetry } from '../dialect.ts'
import { removeMembers, scanTopLevel, setMembers } from '../json/edit-json.ts'

type LimitName = ModelCaps['limitName']

const OTHER_NAME: Readonly<Record<LimitName, LimitName>> = {
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
    return given && others.length === 0 ? renameLimit(request, OTHER_NAME[given]) : null
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

/** Gives the token limit of a request this name, unless the request has it under this name already. */
export function renameLimit(request: Buffer, name: LimitName): Buffer {
  const members = scanTopLevel(request)?.members
  const range = members?.get(OTHER_NAME[name])
  if (!members || !range || members.has(name)) return request
  const limit: unknown = JSON.parse(request.toString('utf8', range.start, range.end))
  return setMembers(removeMembers(request, [OTHER_NAME[name]]), { [name]: limit }) ?? request
}
