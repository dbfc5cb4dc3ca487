import { scanTopLevel, setMembers } from '../json/edit-json.ts'
import { parseObject } from '../json/read-json.ts'
import type { Json } from '../json/read-json.ts'
import type { SseEvent } from '../sse/decode.ts'

/** Returns a whole answer with the service's model id; null when `isAnswer` does not accept it. */
export function renameAnswer(body: Buffer, model: string, isAnswer: (body: Json) => boolean): Buffer | null {
  const parsed = parseObject(body.toString('utf8'))
  if (!parsed || !isAnswer(parsed)) return null
  const scanned = scanTopLevel(body)
  if (!scanned?.members.has('model')) return body
  return setMembers(body, { model }, scanned) ?? body
}

/** Returns the event with another `model` inside this member of its data; the same event when it has none. */
export function renameInside(event: SseEvent, member: string, model: string): SseEvent {
  if (!event.data.includes(`"${member}"`)) return event
  const bytes = Buffer.from(event.data)
  const range = scanTopLevel(bytes)?.members.get(member)
  if (!range) return event
  const inner = bytes.subarray(range.start, range.end)
  const scanned = scanTopLevel(inner)
  if (!scanned?.members.has('model')) return event
  const renamed = setMembers(inner, { model }, scanned) ?? inner
  const data = Buffer.concat([bytes.subarray(0, range.start), renamed, bytes.subarray(range.end)]).toString()
  return { event: event.event, data }
}

/**
 * Returns the event with another top-level `model`. `served`: the model in the event. When `"model":"..."` occurs
 * exactly once, it is the member itself, because quotes inside JSON texts are escaped. Any other event is scanned.
 */
export function renameEvent(event: SseEvent, served: string | null, model: string): SseEvent {
  const { data } = event
  const member = `"model":${JSON.stringify(served)}`
  const at = served === null ? -1 : data.indexOf(member)
  if (at !== -1 && !data.includes('"model"', at + member.length) && data.indexOf('"model"') === at) {
    const renamed = `${data.slice(0, at)}"model":${JSON.stringify(model)}${data.slice(at + member.length)}`
    return { event: null, data: renamed }
  }
  const changed = setMembers(Buffer.from(data), { model })
  return changed ? { event: null, data: changed.toString() } : event
}
