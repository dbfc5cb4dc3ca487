import type { Part } from '../neutral.ts'
import { toCallId } from '../tools/call-ids.ts'

/** Puts reasoning before the call that followed it, because a client may have moved its calls to the end. */
export function withReasoningBeforeCalls(parts: readonly Part[]): Part[] {
  const ahead = new Set(parts.flatMap((part) => (part.type === 'call' ? [toCallId(part.id)] : [])))
  const moved = new Map<string, Part[]>()
  return parts.flatMap((part) => {
    if (part.type === 'call') {
      const id = toCallId(part.id)
      ahead.delete(id)
      return [...(moved.get(id) ?? []), part]
    }
    const followedBy = part.type === 'reasoning' ? (part.seal?.before ?? null) : null
    if (followedBy === null || !ahead.has(toCallId(followedBy))) return [part]
    const id = toCallId(followedBy)
    const before = moved.get(id) ?? []
    before.push(part)
    moved.set(id, before)
    return []
  })
}
