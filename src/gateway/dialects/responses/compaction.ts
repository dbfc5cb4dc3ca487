/**
 * Compaction: Codex asks for a summary of the conversation with a last item `compaction_trigger`, gets one item
 * `compaction`, and sends that instead of the conversation from then on. Its vendor encrypts the summary. Here it is
 * written by the model of the call, and is a text of the user when it comes back, because it says nothing that the user
 * could not say too.
 */
import { isObject } from '../../../kernel/json.ts'
import { readList, readText } from '../json/read-json.ts'
import type { Json } from '../json/read-json.ts'
import { toSummaryText } from '../parts/summary.ts'

/** Begins a summary of this service, in the place of an encrypted one. */
const SUMMARY_MARK = 'svc-summary.'

/** What the model is asked instead of the trigger. */
export const SUMMARY_REQUEST =
  'Summarize this conversation, so that you can continue the work from your summary alone. Say what was asked and ' +
  'decided, what was done and found out, with the names of files and commands, and what is left to do. Call no ' +
  'tools. Answer with the summary only.'

/** Whether a request asks for a summary. */
export function isCompaction({ input }: Json): boolean {
  const last = readList(input).at(-1)
  return isObject(last) && last.type === 'compaction_trigger'
}

/** Whether a request asks for a summary, or has one. */
export function hasCompaction(body: Json): boolean {
  return isCompaction(body) || readList(body.input).some((item) => isObject(item) && COMPACTIONS.has(item.type))
}

/** The item that holds a summary. */
export function toCompactionItem(id: string, summary: string): Json {
  const encrypted_content = SUMMARY_MARK + Buffer.from(summary).toString('base64url')
  return { id, type: 'compaction', encrypted_content }
}

/** The text of a summary that this service has written; null for any other item. */
export function readSummary(item: unknown): string | null {
  if (!isObject(item) || !COMPACTIONS.has(item.type)) return null
  const content = readText(item.encrypted_content)
  if (!content.startsWith(SUMMARY_MARK)) return null
  return toSummaryText(Buffer.from(content.slice(SUMMARY_MARK.length), 'base64url').toString())
}

const COMPACTIONS: ReadonlySet<unknown> = new Set(['compaction', 'compaction_summary'])
