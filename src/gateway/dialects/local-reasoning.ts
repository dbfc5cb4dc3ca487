import { isObject, type Json, readList } from './json/read-json.ts'
import { scanTopLevel, setMembers } from './json/edit-json.ts'

/**
 * Stands where a vendor puts the signature or the encrypted form of its model's reasoning. A local model has neither, and a
 * vendor refuses a history with reasoning that it did not sign; by this mark it is found again.
 */
export const LOCAL_REASONING = 'svc-local-reasoning'

/** Whether a messages or responses call holds reasoning that a local model wrote. Looks at what is parsed already, and copies nothing. */
export function hasLocalReasoning(body: Json): boolean {
  const blocks = (message: unknown): readonly unknown[] => (isObject(message) ? readList(message.content) : [])
  return (
    readList(body.input).some(isLocalItem) || readList(body.messages).some((one) => blocks(one).some(isLocalThought))
  )
}

/**
 * The body of a messages or responses call without the reasoning that a local model wrote, for a session that goes on at
 * a vendor. Bodies without any are the same bytes; in others only `messages` or `input` is written anew.
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
  if (!isObject(message) || !Array.isArray(message.content)) return [message]
  const content = readList(message.content).filter((block) => !isLocalThought(block))
  // A turn of nothing but thoughts goes as a whole: empty content is refused too.
  return content.length === 0 && message.content.length > 0 ? [] : [{ ...message, content } satisfies Json]
}

/** Engines that speak the style themselves leave a thought unsigned, or put 32 hexadecimal digits in the place of a signature. */
function isLocalThought(block: unknown): boolean {
  if (!isObject(block) || block.type !== 'thinking') return false
  const { signature } = block
  return typeof signature !== 'string' || signature === LOCAL_REASONING || /^([0-9a-f]{32})?$/.test(signature)
}

/** ... and nothing, or their reasoning in plain words, where a vendor's is encrypted: words have spaces between them. */
function isLocalItem(item: unknown): boolean {
  if (!isObject(item) || item.type !== 'reasoning') return false
  const { encrypted_content: sealed } = item
  return typeof sealed === 'string' && (sealed === LOCAL_REASONING || sealed === '' || /\s/.test(sealed))
}
