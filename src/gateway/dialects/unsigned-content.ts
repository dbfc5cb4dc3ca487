/**
 * Content that only a vendor can write, because the vendor signs or encrypts it: reasoning, the results of a web
 * search, citations and summaries of a conversation. Local models and translations write such content unsigned, or with
 * a seal of this service (`seals.ts`). Vendors refuse a conversation that contains it, so it is removed before a call
 * passes to a vendor in the vendor's own dialect.
 */
import { isObject } from '../../kernel/json.ts'
import { setMembers, scanTopLevel } from './json/edit-json.ts'
import { parseToRewrite, readList, readObject } from './json/read-json.ts'
import type { Json } from './json/read-json.ts'
import { readSummary } from './responses/compaction.ts'
import { isSealed } from './seals.ts'

/**
 * Stands in the place of a signature or of encrypted data where there is no seal. Clients send it back from stored
 * conversations, so it cannot change.
 */
export const UNSIGNED_MARK = 'svc-local-reasoning'

/** Whether a call in any dialect contains unsigned content. Reads the parsed body without a copy. */
export function hasUnsignedContent(body: Json): boolean {
  const blocks = (message: unknown): readonly unknown[] => (isObject(message) ? readList(message.content) : [])
  return (
    readList(body.input).some((item) => isUnsignedItem(item) || readSummary(item) !== null) ||
    readList(body.messages).some((one) => blocks(one).some(isRefusedBlock) || hasSealedMembers(one))
  )
}

function isRefusedBlock(block: unknown): boolean {
  return isUnsignedBlock(block) || hasMarkedCitations(block)
}

/**
 * Returns the body without unsigned content. A body that has none is returned as the same bytes; otherwise only
 * `messages` or `input` is rewritten.
 */
export function withoutUnsignedContent(bytes: Buffer): Buffer {
  const scanned = scanTopLevel(bytes)
  const read = (name: string): unknown => {
    const range = scanned?.members.get(name)
    return range && parseToRewrite(bytes.toString('utf8', range.start, range.end))
  }
  const body = { messages: read('messages'), input: read('input') }
  if (!hasUnsignedContent(body)) return bytes
  const cleaned = setMembers(bytes, {
    messages: Array.isArray(body.messages) ? body.messages.flatMap(withoutUnsignedBlocks) : undefined,
    input: Array.isArray(body.input) ? body.input.flatMap(withoutUnsignedItems) : undefined,
  })
  return cleaned ?? bytes
}

function withoutUnsignedBlocks(message: unknown): unknown[] {
  if (!isObject(message)) return [message]
  const rest = hasSealedMembers(message) ? withoutSealedMembers(message) : message
  if (!Array.isArray(rest.content)) return [rest]
  const marked = markedSearches(rest.content)
  const isKept = (block: unknown): boolean => !isUnsignedBlock(block) && !marked.has(readObject(block).id)
  const content = readList(rest.content).filter(isKept).map(withoutMarkedCitations)
  // A turn that has only reasoning is removed, because vendors refuse empty content too.
  return content.length === 0 && rest.content.length > 0 ? [] : [{ ...rest, content } satisfies Json]
}

/**
 * Whether a block is reasoning of a local model, or the result of a search that no vendor has encrypted. Engines omit
 * the signature of reasoning, or write 32 hexadecimal digits instead.
 */
function isUnsignedBlock(block: unknown): boolean {
  if (!isObject(block)) return false
  if (block.type === 'redacted_thinking') return isSealed(block.data)
  if (block.type === 'web_search_tool_result') return readList(block.content).some(isMarkedPage)
  if (block.type !== 'thinking') return false
  const { signature } = block
  if (typeof signature !== 'string' || signature === UNSIGNED_MARK) return true
  return isSealed(signature) || /^([0-9a-f]{32})?$/.test(signature)
}

function isMarked(value: unknown): boolean {
  return value === UNSIGNED_MARK || isSealed(value)
}

function isMarkedPage(page: unknown): boolean {
  return isMarked(readObject(page).encrypted_content)
}

/** The ids of the searches whose results no vendor has encrypted. */
function markedSearches(content: readonly unknown[]): ReadonlySet<unknown> {
  return new Set(content.filter(isUnsignedBlock).flatMap((block) => readObject(block).tool_use_id ?? []))
}

function hasMarkedCitations(block: unknown): boolean {
  return readList(readObject(block).citations).some((citation) => isMarked(readObject(citation).encrypted_index))
}

function withoutMarkedCitations(block: unknown): unknown {
  if (!isObject(block) || !hasMarkedCitations(block)) return block
  const { citations: _, ...rest } = block
  return rest
}

/** A summary that no vendor has encrypted becomes a text of the user. */
function withoutUnsignedItems(item: unknown): unknown[] {
  const summary = readSummary(item)
  if (summary !== null) return [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: summary }] }]
  return isUnsignedItem(item) ? [] : [item]
}

/**
 * Whether an item is reasoning of a local model. Where a vendor has the encrypted reasoning, engines write nothing or
 * plain text, which unlike encrypted data contains spaces or other characters than ASCII. Either may have been cut,
 * which leaves a DEL (`json/shorten-texts.ts`).
 */
function isUnsignedItem(item: unknown): boolean {
  if (!isObject(item) || item.type !== 'reasoning') return false
  const { encrypted_content: sealed } = item
  if (typeof sealed !== 'string') return false
  return sealed === UNSIGNED_MARK || sealed === '' || isSealed(sealed) || /[^\x21-\x7f]/.test(sealed)
}

/** Whether a message of the chat dialect has seals, which are in members beside its content. */
function hasSealedMembers(message: unknown): boolean {
  if (!isObject(message)) return false
  return readList(message.reasoning_details).some(isSealedDetail) || readList(message.tool_calls).some(isSealedCall)
}

function withoutSealedMembers(message: Json): Json {
  const { reasoning_details, reasoning_content: _, ...rest } = message
  const details = readList(reasoning_details).filter((detail) => !isSealedDetail(detail))
  return {
    ...rest,
    ...(details.length > 0 && { reasoning_details: details }),
    ...(Array.isArray(rest.tool_calls) && { tool_calls: readList(rest.tool_calls).map(withoutSeal) }),
  }
}

function isSealedDetail(detail: unknown): boolean {
  return isObject(detail) && isSealed(detail.data)
}

function isSealedCall(call: unknown): boolean {
  const extra = isObject(call) ? call.extra_content : null
  const google = isObject(extra) ? extra.google : null
  return isObject(google) && isSealed(google.thought_signature)
}

function withoutSeal(call: unknown): unknown {
  if (!isObject(call) || !isSealedCall(call)) return call
  const { extra_content: _, ...rest } = call
  return rest
}
