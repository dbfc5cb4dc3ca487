import { isObject } from '../../../kernel/json.ts'
import type { ModelCaps } from '../caps.ts'
import { scanTopLevel, setMembers } from '../json/edit-json.ts'
import { parseToRewrite, readList } from '../json/read-json.ts'
import type { Json } from '../json/read-json.ts'
import { withoutRefusedHints } from '../refused-members.ts'

/**
 * Removes what the backend would refuse from a responses client's request: hints (`refused-members.ts`), and reasoning
 * that it cannot read (`reasoningReplay`). Returns the same bytes where nothing would be refused.
 */
export function toAcceptedRequest(request: Buffer, body: Json, caps: Partial<ModelCaps>): Buffer {
  const accepted = withoutRefusedHints(request, body, caps, { effort: 'reasoning' })
  const isUnreadable = caps.reasoningReplay === 'unreadable' && readList(body.input).some(isReasoning)
  return isUnreadable ? withoutReasoning(accepted) : accepted
}

function withoutReasoning(request: Buffer): Buffer {
  const range = scanTopLevel(request)?.members.get('input')
  const input = range && parseToRewrite(request.toString('utf8', range.start, range.end))
  return setMembers(request, { input: readList(input).filter((item) => !isReasoning(item)) }) ?? request
}

function isReasoning(item: unknown): boolean {
  return isObject(item) && item.type === 'reasoning'
}
