import type { AnswerSeal, OpenPart, PartEvent } from './neutral.ts'

export type PartEnd = {
  readonly cut?: boolean
  readonly seal?: AnswerSeal | null
  /** All of the text, where the backend repeats it: what the deltas lacked is added. */
  readonly text?: string
}

/** Parts by the key of the backend's own block or item. */
export type PartQueue = {
  open(key: string, part: OpenPart): PartEvent[]
  delta(key: string, text: string): PartEvent[]
  close(key: string, end?: PartEnd): PartEvent[]
  /** Closes what the backend left open. */
  end(cut: boolean): PartEvent[]
  /** Whether a part of this kind was handed on. */
  has(kind: OpenPart['kind']): boolean
  /** Whether there is a part with this key, open or closed. */
  knows(key: string): boolean
}

type Entry = {
  readonly part: OpenPart
  text: string
  sent: number
  isOpen: boolean
  end: PartEnd | null
}

/**
 * Puts the parts of an answer one after the other: a backend may have several open at once, and the pieces of later
 * ones wait. A text of white space alone and reasoning without text and seal are no parts, because vendors refuse them
 * in a history.
 */
export function makePartQueue(): PartQueue {
  const entries = new Map<string, Entry>()
  const waiting: Entry[] = []

  function advance(): PartEvent[] {
    const events: PartEvent[] = []
    for (let entry = waiting[0]; entry; entry = waiting[0]) {
      say(entry, events)
      if (!entry.end) return events
      if (entry.isOpen) {
        const { cut = false, seal = null } = entry.end
        events.push({ type: 'close', part: entry.part, text: entry.text, cut, seal })
      }
      waiting.shift()
    }
    return events
  }

  return {
    open(key, part) {
      if (entries.has(key)) return []
      const entry: Entry = { part, text: '', sent: 0, isOpen: false, end: null }
      entries.set(key, entry)
      waiting.push(entry)
      return advance()
    },
    delta(key, text) {
      const entry = entries.get(key)
      if (!entry || entry.end) return []
      entry.text += text
      return entry === waiting[0] ? advance() : []
    },
    close(key, end = {}) {
      const entry = entries.get(key)
      if (entry) finish(entry, end)
      return advance()
    },
    end(cut) {
      const last = waiting.at(-1)
      for (const entry of waiting) finish(entry, { cut: cut && entry === last })
      return advance()
    },
    has: (kind) => [...entries.values()].some((entry) => entry.isOpen && entry.part.kind === kind),
    knows: (key) => entries.has(key),
  }
}

function say(entry: Entry, events: PartEvent[]): void {
  const { part } = entry
  const isSubstantial = part.kind === 'tool' || entry.text.trim() !== '' || Boolean(entry.end?.seal)
  if (!entry.isOpen && isSubstantial) {
    entry.isOpen = true
    events.push({ type: 'open', part })
  }
  if (!entry.isOpen || entry.sent === entry.text.length) return
  events.push({ type: 'delta', part, text: entry.text.slice(entry.sent) })
  entry.sent = entry.text.length
}

function finish(entry: Entry, end: PartEnd): void {
  if (entry.end) return
  if (end.text?.startsWith(entry.text)) entry.text = end.text
  // A call without arguments.
  if (entry.part.kind === 'tool' && entry.part.tool.kind === 'function' && entry.text === '') entry.text = '{}'
  entry.end = end
}
