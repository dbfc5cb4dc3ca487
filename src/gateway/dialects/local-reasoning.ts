import { setMembers, scanTopLevel } from './json/edit-json.ts'
import { isObject, type Json, readList } from './json/read-json.ts'
import { isSealed } from './seals.ts'

/**
 * Stands where a vendor puts the signature or the encrypted form of its model's reasoning, for reasoning that is not
 * sealed. Vendors refuse a history with reasoning that they did not sign; by this mark it is found again.
 */
export const LOCAL_REASONING = 'svc-local-reasoning'

/** Whether a call in any dialect holds reasoning that no vendor takes. Reads the parsed body and copies nothing. */
export function hasLocalReasoning(body: Json): boolean {
  const blocks = (message: unknown): readonly unknown[] => (isObject(message) ? readList(message.content) : [])
  return (
    readList(body.input).some(isLocalItem) ||
    readList(body.messages).some((one) => blocks(one).some(isLocalThought) || hasSealedMembers(one))
  )
}

/**
 * The body without the reasoning that no vendor takes, for a session that goes on at a vendor. Bodies without any are
 * the same bytes; in others only `messages` or `input` is written anew.
 */
export function withoutLocalReasoning(bytes: Buffer): Buffer {
  const scanned = scanTopLevel(bytes)
  const read = (name: string): unknown => {
    const range = scanned?.members.get(name)
    return range ? JSON.parse(bytes.toString('utf8', range.start, range.end)) : undefined
  }
  const body = { messages: read('messages'), input: read('input') }
  if (!hasLocalReasoning(body)) return bytes
  const cleaned = setMembers(bytes, {
    messages: Array.isArray(body.messages) ? body.messages.flatMap(withoutThoughts) : undefined,
    input: Array.isArray(body.input) ? body.input.filter((item) => !isLocalItem(item)) : undefined,
  })
  return cleaned ?? bytes
}

function withoutThoughts(message: unknown): unknown[] {
  if (!isObject(message)) return [message]
  const rest = hasSealedMembers(message) ? withoutSealedMembers(message) : message
  if (!Array.isArray(rest.content)) return [rest]
  const content = readList(rest.content).filter((block) => !isLocalThought(block))
  // A turn of nothing but thoughts goes as a whole, because empty content is refused too.
  return content.length === 0 && rest.content.length > 0 ? [] : [{ ...rest, content } satisfies Json]
}

/**
 * Engines that speak the dialect leave a thought unsigned, or put 32 hexadecimal digits in the place of a signature.
 */
function isLocalThought(block: unknown): boolean {
  if (!isObject(block)) return false
  if (block.type === 'redacted_thinking') return isSealed(block.data)
  if (block.type !== 'thinking') return false
  const { signature } = block
  if (typeof signature !== 'string' || signature === LOCAL_REASONING) return true
  return isSealed(signature) || /^([0-9a-f]{32})?$/.test(signature)
}

/**
 * ... and nothing, or their reasoning in plain words, where a vendor's is encrypted: words have spaces between them.
 */
function isLocalItem(item: unknown): boolean {
  if (!isObject(item) || item.type !== 'reasoning') return false
  const { encrypted_content: sealed } = item
  if (typeof sealed !== 'string') return false
  return sealed === LOCAL_REASONING || sealed === '' || isSealed(sealed) || /\s/.test(sealed)
}

// ---- the chat dialect has its seals beside the content

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
