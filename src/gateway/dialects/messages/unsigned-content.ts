import { isObject } from '../../../kernel/json.ts'
import { readList, readObject } from '../json/read-json.ts'
import type { Json } from '../json/read-json.ts'
import { rewriteItems } from '../json/rewrite-list.ts'
import { isSealed } from '../seals.ts'
import { isMarked } from '../unsigned-content.ts'

/** Removes the blocks that no vendor has signed or encrypted, and such citations. */
export function withoutUnsignedContent(request: Buffer, body: Json): Buffer {
  return rewriteItems(request, body, 'messages', removeUnsigned)
}

/** The message without unsigned content; null when it has none. */
function removeUnsigned(message: unknown): readonly unknown[] | null {
  if (!isObject(message)) return null
  const blocks = readList(message.content)
  if (!blocks.some((block) => isUnsigned(block) || hasMarkedCitations(block))) return null
  const searches = markedSearches(blocks)
  const kept = blocks.filter((block) => !isUnsigned(block) && !searches.has(readObject(block).id))
  // A turn that has only reasoning is removed, because vendors refuse empty content too.
  return kept.length === 0 ? [] : [{ ...message, content: kept.map(withoutMarkedCitations) } satisfies Json]
}

/**
 * Whether a block is reasoning of a local model, or the result of a search that no vendor has encrypted. Engines omit
 * the signature of reasoning, or write 32 hexadecimal digits instead.
 */
function isUnsigned(block: unknown): boolean {
  if (!isObject(block)) return false
  if (block.type === 'redacted_thinking') return isSealed(block.data)
  if (block.type === 'web_search_tool_result') return readList(block.content).some(isMarkedPage)
  if (block.type !== 'thinking') return false
  const { signature } = block
  return typeof signature !== 'string' || isMarked(signature) || /^([0-9a-f]{32})?$/.test(signature)
}

function isMarkedPage(page: unknown): boolean {
  return isMarked(readObject(page).encrypted_content)
}

/** The ids of the searches whose results no vendor has encrypted. */
function markedSearches(blocks: readonly unknown[]): ReadonlySet<unknown> {
  return new Set(blocks.filter(isUnsigned).flatMap((block) => readObject(block).tool_use_id ?? []))
}

function hasMarkedCitations(block: unknown): boolean {
  return readList(readObject(block).citations).some((citation) => isMarked(readObject(citation).encrypted_index))
}

function withoutMarkedCitations(block: unknown): unknown {
  if (!isObject(block) || !hasMarkedCitations(block)) return block
  const { citations: _, ...rest } = block
  return rest
}
