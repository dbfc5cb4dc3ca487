import { readObject } from '../../src/gateway/dialects/json/read-json.ts'
import type { Json } from '../../src/gateway/dialects/json/read-json.ts'
import type { SseEvent } from '../../src/gateway/dialects/sse/decode.ts'
import { parsed } from './streams.ts'

/** A planted fault: the events of a sound stream in, those of a broken one out. */
export type Fault = (events: SseEvent[]) => SseEvent[]

export const named = (type: string, more: Json = {}): SseEvent => ({
  event: type,
  data: JSON.stringify({ type, ...more }),
})
export const at = (events: SseEvent[], type: string, nth = 0): number => {
  const found = parsed(events).flatMap((event, index) => (event.type === type ? [index] : []))
  return found.at(nth) ?? -1
}
export const drop =
  (type: string, nth = 0): Fault =>
  (events) =>
    events.toSpliced(at(events, type, nth), 1)
export const twice =
  (type: string, nth = 0): Fault =>
  (events) => {
    const index = at(events, type, nth)
    return events.toSpliced(index, 0, ...events.slice(index, index + 1))
  }
export const before =
  (type: string, ...more: SseEvent[]): Fault =>
  (events) =>
    events.toSpliced(at(events, type), 0, ...more)
export const append =
  (...more: SseEvent[]): Fault =>
  (events) => [...events, ...more]
export const change =
  (type: string, edit: (event: Json) => Json, nth = 0): Fault =>
  (events) => {
    const index = at(events, type, nth)
    const event = events[index]
    return event ? events.with(index, { ...event, data: JSON.stringify(edit(readObject(parsed([event])[0]))) }) : events
  }
export const set = (type: string, path: string, value: unknown, nth = 0): Fault =>
  change(
    type,
    (event) => {
      const names = path.split('.')
      const last = names.pop() ?? ''
      const holder = names.reduce((inner, name) => readObject(inner[name]), event)
      Object.assign(holder, { [last]: value })
      return event
    },
    nth,
  )

/** Numbers a responses stream anew, so that only the planted fault is wrong with it. */
export const renumber: Fault = (events) =>
  events.map((event, index) => ({ ...event, data: JSON.stringify({ ...parsed([event])[0], sequence_number: index }) }))
