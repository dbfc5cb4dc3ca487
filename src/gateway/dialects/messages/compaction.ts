/**
 * Compaction (Anthropic API, "Compaction"): an answer of the vendor may have a block `compaction`, whose text sums up
 * the conversation. When the client sends it back, the vendor reads it in the place of everything before it.
 */
import { isObject } from '../../../kernel/json.ts'
import { isGiven, readList, readName, readObject, readText } from '../json/read-json.ts'
import type { Json } from '../json/read-json.ts'
import { toSummaryText } from '../parts/summary.ts'
import { refuse } from '../refusal.ts'

/** Whether a request asks for a compaction, or has one. */
export function hasCompaction({ compaction, messages }: Json): boolean {
  return isGiven(compaction) || readList(messages).some((message) => hasSummary(readObject(message)))
}

/** Whether a message has a summary of the conversation before it. */
export function hasSummary(message: Json): boolean {
  return findSummary(message) !== -1
}

/** The text for the summary of a message that has one. `path` is the place of its content. */
export function readSummary(message: Json, path: string): string {
  const at = findSummary(message)
  const { content, tool_changes: changes } = readObject(readList(message.content)[at])
  if (readList(changes).length > 0) {
    refuse(`${path}.${at}.tool_changes`, 'This model cannot read them: send the conversation itself.')
  }
  return toSummaryText(readText(content))
}

/** The index of the last summary; -1: none. A block without a text, as of a failed compaction, means nothing. */
function findSummary({ role, content }: Json): number {
  if (role !== 'assistant') return -1
  return readList(content).findLastIndex(
    (block) => isObject(block) && block.type === 'compaction' && readName(block.content) !== null,
  )
}
