import { isObject, type Json, readList } from './read.ts'
import { scanTopLevel, spliceTopLevel } from './splice.ts'

/**
 * Stands where a vendor puts the signature or the encrypted form of its model's reasoning. A local model has neither, and a
 * vendor refuses a history with reasoning that it did not sign; by this mark it is found again.
 */
export const LOCAL_REASONING = 'svc-local-reasoning'

/**
 * The body of a messages or responses call without the reasoning that a local model wrote, for a session that goes on at
 * a vendor. Bodies without any are the same bytes; in others only `messages` or `input` is written anew.
 */
export function withoutLocalReasoning(bytes: Buffer): Buffer {
  if (!bytes.includes(LOCAL_REASONING)) return bytes
  const scanned = scanTopLevel(bytes)
  const read = (name: string): unknown => {
    const range = scanned?.members.get(name)
    return range ? JSON.parse(bytes.toString('utf8', range.start, range.end)) : undefined
  }
  const messages = read('messages')
  const input = read('input')
  const spliced = spliceTopLevel(bytes, {
    messages: Array.isArray(messages) ? messages.flatMap(withoutBlocks) : undefined,
    input: Array.isArray(input) ? input.filter((item) => !isLocal(item, 'reasoning', 'encrypted_content')) : undefined,
  })
  return spliced?.bytes ?? bytes
}

function withoutBlocks(message: unknown): unknown[] {
  if (!isObject(message) || !Array.isArray(message.content)) return [message]
  const content = readList(message.content).filter((block) => !isLocal(block, 'thinking', 'signature'))
  // A turn of nothing but thoughts goes as a whole: empty content is refused too.
  return content.length === 0 && message.content.length > 0 ? [] : [{ ...message, content } satisfies Json]
}

function isLocal(value: unknown, type: string, member: string): boolean {
  return isObject(value) && value.type === type && value[member] === LOCAL_REASONING
}
