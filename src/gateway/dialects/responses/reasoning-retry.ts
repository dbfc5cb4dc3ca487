import { isObject } from '../../../kernel/json.ts'
import type { RequestRetry } from '../dialect.ts'
import { scanTopLevel, setMembers } from '../json/edit-json.ts'
import { parseToRewrite } from '../json/read-json.ts'

const ENCRYPTED = Buffer.from('"encrypted_content"')

/**
 * Only the account that wrote reasoning can read it. After a change of account, or behind a load balancer with several
 * accounts, the vendor refuses the whole request, and Codex sends the same request for the rest of the session.
 */
export const RESPONSES_REASONING_RETRY: RequestRetry = {
  mayHelp: (request) => request.includes(ENCRYPTED),
  isRefused: (error) => error.includes('invalid_encrypted_content'),
  toAccepted(request) {
    const range = scanTopLevel(request)?.members.get('input')
    const input = range && parseToRewrite(request.toString('utf8', range.start, range.end))
    if (!Array.isArray(input) || !input.some(isReasoning)) return null
    return setMembers(request, { input: input.filter((item) => !isReasoning(item)) })
  },
  // Other conversations may have reasoning that the backend can read.
  learn: null,
}

function isReasoning(item: unknown): boolean {
  return isObject(item) && item.type === 'reasoning'
}
