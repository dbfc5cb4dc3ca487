import { isObject } from '../../../kernel/json.ts'
import type { Json } from '../json/read-json.ts'
import { rewriteItems } from '../json/rewrite-list.ts'
import { isMarked } from '../unsigned-content.ts'
import { readSummary } from './compaction.ts'

/** Removes reasoning that no vendor has encrypted. A summary of the conversation becomes a text of the user. */
export function withoutUnsignedContent(request: Buffer, body: Json): Buffer {
  return rewriteItems(request, body, 'input', removeUnsigned)
}

/** What stands in the place of an item; null: the item itself. */
function removeUnsigned(item: unknown): readonly unknown[] | null {
  const summary = readSummary(item)
  if (summary !== null) return [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: summary }] }]
  return isUnsigned(item) ? [] : null
}

/**
 * Whether an item is reasoning of a local model. Where a vendor has the encrypted reasoning, engines write nothing or
 * plain text, which unlike encrypted data contains spaces or other characters than ASCII. Either may have been cut,
 * which leaves a DEL (`json/shorten-texts.ts`).
 */
function isUnsigned(item: unknown): boolean {
  if (!isObject(item) || item.type !== 'reasoning') return false
  const { encrypted_content: data } = item
  return typeof data === 'string' && (data === '' || isMarked(data) || /[^\x21-\x7f]/.test(data))
}
