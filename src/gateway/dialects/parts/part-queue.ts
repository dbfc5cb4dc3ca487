import type { NewId } from '../dialect.ts'
import type { OpenPart, PartEnd, PartEvent } from '../neutral.ts'

/**
 * How a part ended. `text` is the whole text, where the backend repeats it at the end. Text that was missing in the
 * deltas is added.
 */
export type GivenEnd = Partial<PartEnd>

/** The parts of one answer. `Key`: what identifies a part, such as the index of its block. */
export type PartQueue<Key> = {
  /** Opens a part, unless it is there. A call without a name waits until it is opened again with its name. */
  open(key: Key, part: OpenPart): PartEvent[]
  delta(key: Key, text: string, logprobs?: readonly unknown[]): PartEvent[]
  close(key: Key, end?: GivenEnd): PartEvent[]
  /** Closes all parts that are open. `cut`: the last part is incomplete. */
  end(cut: boolean): PartEvent[]
  /** Whether a part of this kind was sent. */
  has(kind: OpenPart['kind']): boolean
  /** Whether a call has no name, so that it cannot be carried out. It is left out. */
  hasNamelessCall(): boolean
}

type Entry = {
  part: OpenPart
  /** The text that was sent. */
  sent: string
  /** The text that was not sent yet. It is kept by itself, because a slice of a long text takes a copy of all of it. */
  waiting: string
  /** Whether the text has only white space. */
  isBlank: boolean
  wasOpened: boolean
  /** The log probabilities so far, and how many of them were sent. */
  readonly logprobs: unknown[]
  sentLogprobs: number
  end: GivenEnd | null
}

/**
 * Puts the parts of an answer in order. A backend may open several parts at once; the text of later parts then waits.
 * Text that is only white space, and reasoning without text and seal, are dropped, because vendors refuse them in a
 * history. A call without an id, or with that of another call, gets a new one.
 */
export function makePartQueue<Key>(newId: NewId): PartQueue<Key> {
  const entries = new Map<Key, Entry>()
  const waiting: Entry[] = []
  const ids = new Set<string>()

  function identify(part: OpenPart): OpenPart {
    if (part.kind !== 'tool') return part
    const id = part.id === '' || ids.has(part.id) ? newId('call_') : part.id
    ids.add(id)
    return { ...part, id }
  }

  function emit(entry: Entry, events: PartEvent[]): void {
    if (!entry.wasOpened && hasContent(entry)) {
      entry.wasOpened = true
      entry.part = identify(entry.part)
      events.push({ type: 'open', part: entry.part })
    }
    const { part, waiting: text } = entry
    if (!entry.wasOpened || text === '') return
    const logprobs = entry.logprobs.slice(entry.sentLogprobs)
    events.push({ type: 'delta', part, text, ...(logprobs.length > 0 && { logprobs }) })
    entry.sent += text
    entry.waiting = ''
    entry.sentLogprobs = entry.logprobs.length
  }

  function advance(): PartEvent[] {
    const events: PartEvent[] = []
    for (let entry = waiting[0]; entry; entry = waiting[0]) {
      emit(entry, events)
      if (!entry.end) return events
      if (entry.wasOpened) events.push(toClose(entry, entry.end))
      waiting.shift()
    }
    return events
  }

  return {
    open(key, opened) {
      const known = entries.get(key)
      if (known && !isNameless(known.part)) return []
      const entry = known ?? newEntry(opened)
      entry.part = opened
      if (!known) waiting.push(entry)
      entries.set(key, entry)
      return advance()
    },
    delta(key, text, logprobs = []) {
      const entry = entries.get(key)
      if (!entry || entry.end) return []
      addText(entry, text)
      entry.logprobs.push(...logprobs)
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
    has: (kind) => [...entries.values()].some((entry) => entry.wasOpened && entry.part.kind === kind),
    hasNamelessCall: () => [...entries.values()].some(({ part }) => isNameless(part)),
  }
}

function newEntry(part: OpenPart): Entry {
  return {
    part,
    sent: '',
    waiting: '',
    isBlank: true,
    wasOpened: false,
    logprobs: [],
    sentLogprobs: 0,
    end: null,
  }
}

function addText(entry: Entry, text: string): void {
  entry.waiting += text
  entry.isBlank &&= text.trim() === ''
}

/** A call and a search say something without a text. A call without a name never does. */
function hasContent({ part, isBlank, end }: Entry): boolean {
  if (part.kind === 'tool') return !isNameless(part)
  return part.kind === 'search' || !isBlank || Boolean(end?.seal)
}

function isNameless(part: OpenPart): boolean {
  return part.kind === 'tool' && part.tool.name === ''
}

function toClose(
  { part, sent: text, logprobs }: Entry,
  { cut = false, seal = null, citations, found }: GivenEnd,
): PartEvent {
  return {
    type: 'close',
    part,
    text,
    cut,
    seal,
    ...(logprobs.length > 0 && { logprobs }),
    ...(citations && { citations }),
    ...(found && { found }),
  }
}

function finish(entry: Entry, end: GivenEnd): void {
  if (entry.end) return
  if (entry.logprobs.length === 0) entry.logprobs.push(...(end.logprobs ?? []))
  const text = entry.sent + entry.waiting
  if (end.text?.startsWith(text)) addText(entry, end.text.slice(text.length))
  // A call without arguments.
  const isFunction = entry.part.kind === 'tool' && entry.part.tool.kind === 'function'
  if (isFunction && entry.sent + entry.waiting === '') entry.waiting = '{}'
  entry.end = end
}
