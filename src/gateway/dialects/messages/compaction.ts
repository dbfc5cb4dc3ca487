/**
 * Compaction (Anthropic API, "Compaction"): an answer of the vendor may have a block `compaction`, whose text sums up
 * the conversation. When the client sends it back, the vendor reads it in the place of everything before it.
 */
import { isObject } from '../../../kernel/json.ts'
import { isGiven, readList, readName, readObject } from '../json/read-json.ts'
import type { Json } from '../json/read-json.ts'
import { toSummaryText } from '../parts/summary.ts'
import { refuse } from '../refusal.ts'

/** Whether a request asks for a compaction, or has one. */
export function hasCompaction({ compaction, messages }: Json): boolean {
  return isGiven(compaction) || readList(messages).some((message) => hasSummary(readObject(message)))
}

/** Whether a message has a summary of the conversation before it. */
export function hasSummary(message: Json): boolean {
  return findSummary(message) !== null
}

/** The text for the summary of a message; null when it has none. `path` is the place of its content. */
export function readSummary(message: Json, path: string): string | null {
  const found = findSummary(message)
  if (!found) return null
  if (readList(found.block.tool_changes).length > 0) {
    refuse(`${path}.${found.at}.tool_changes`, 'This model cannot read them: send the conversation itself.')
  }
  return toSummaryText(found.summary)
}

/** A block without a text is of a compaction that failed, and means nothing. */
function findSummary({ role, content }: Json): { block: Json; at: number; summary: string } | null {
  if (role !== 'assistant') return null
  const blocks = readList(content)
  const at = blocks.findLastIndex((block) => isObject(block) && block.type === 'compaction' && readName(block.content))
  if (at === -1) return null
  const block = readObject(blocks[at])
  return { block, at, summary: readName(block.content) ?? '' }
}
