import type { ModelCaps } from '../caps.ts'
import { setMembers } from '../json/edit-json.ts'
import { isGiven, readObject } from '../json/read-json.ts'
import type { Json } from '../json/read-json.ts'
import { rewriteItems } from '../json/rewrite-list.ts'
import { withoutRefusedHints } from '../refused-hints.ts'
import { withPlainTools } from '../tools/plain-tools.ts'

const ENCRYPTED = 'reasoning.encrypted_content'

/**
 * Removes what the backend would refuse from a responses client's request: hints (`refused-hints.ts`), the request
 * for summaries of reasoning (`reasoningSummaries`), limits in the schemas of tools (`schemaLimits`), and reasoning
 * (`reasoningReplay`). A model that refuses reasoning also refuses to be asked for it. Returns the same bytes where
 * nothing would be refused.
 */
export function toAcceptedRequest(request: Buffer, body: Json, caps: Partial<ModelCaps>): Buffer {
  const hinted = withoutSummaries(withoutRefusedHints(request, body, caps, { effort: 'reasoning' }), body, caps)
  const accepted = withPlainTools(hinted, body, caps)
  const isRefused = caps.reasoningReplay === 'refused'
  const unasked = isRefused ? rewriteItems(accepted, body, 'include', withoutEncrypted) : accepted
  return isRefused || caps.reasoningReplay === 'unreadable'
    ? rewriteItems(unasked, body, 'input', withoutReasoning)
    : unasked
}

function withoutSummaries(request: Buffer, body: Json, caps: Partial<ModelCaps>): Buffer {
  const { efforts, reasoningSummaries = true } = caps
  // Without a choice of efforts, the whole member has been removed.
  if (reasoningSummaries || efforts?.length === 0) return request
  // `generate_summary` is the old name of `summary`.
  const { summary, generate_summary: old, ...reasoning } = readObject(body.reasoning)
  return isGiven(summary) || isGiven(old) ? (setMembers(request, { reasoning }) ?? request) : request
}

function withoutEncrypted(included: unknown): readonly unknown[] | null {
  return included === ENCRYPTED ? [] : null
}

function withoutReasoning(item: unknown): readonly unknown[] | null {
  return readObject(item).type === 'reasoning' ? [] : null
}
