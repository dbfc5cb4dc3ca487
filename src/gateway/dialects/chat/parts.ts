import type { NewId } from '../dialect.ts'
import type { ChatDelta, ToolDelta } from './chunk.ts'
import { parseObject } from '../json/read-json.ts'

/** What an answer is made of. A tool call has a name, and an id that no other call of this answer has. */
export type OpenPart =
  | { readonly kind: 'reasoning' | 'text' | 'refusal' }
  | { readonly kind: 'tool'; readonly id: string; readonly name: string }

export type PartEvent =
  | { readonly type: 'open'; readonly part: OpenPart }
  | { readonly type: 'delta'; readonly part: OpenPart; readonly text: string }
  /** `text` is everything that the deltas of this part said; `cut`: the token limit or a filter ended it. */
  | { readonly type: 'close'; readonly part: OpenPart; readonly text: string; readonly cut: boolean }

export type ChatParts = {
  push(delta: ChatDelta): PartEvent[]
  /**
   * Closes what is open and hands out what was kept back; a call without arguments gets `{}`. `cut` when the answer is not
   * whole: then its last part is not either.
   */
  end(cut: boolean): PartEvent[]
  /** True when a part of this kind was handed out. */
  has(kind: OpenPart['kind']): boolean
  /** After `end`: a call that cannot be carried out, because it has no name or its arguments are not a JSON object. */
  brokenCall(): { readonly name: string } | null
}

/**
 * Puts the pieces of a chat answer in a line: parts open and close one after the other, and a delta belongs to the part
 * that is open. Chat engines may interleave parallel tool calls and the other styles cannot say that, so the first call
 * streams and the pieces of later parts wait until it is complete or the answer ends. Empty pieces do nothing, and white
 * space between parts is no part of its own, because vendors refuse a history with blank text in it.
 */
export function chatParts(newId: NewId): ChatParts {
  const parts: Part[] = []
  let head = 0 // Parts before this one are closed.

  function take(kind: 'reasoning' | 'text' | 'refusal', text: string): void {
    if (text === '') return
    const last = parts.at(-1)
    const part = last?.kind === kind ? last : addPart(parts, kind)
    part.waiting += text
  }

  function takeTool(delta: ToolDelta, among: number): void {
    const part = findCall(parts, delta, among) ?? addPart(parts, 'tool')
    part.index ??= delta.index
    part.id ??= delta.id
    // Some engines repeat the name with every piece, some send it in pieces.
    if (soFar(part) === '' && delta.name !== part.name) part.name += delta.name
    if (part.closed) part.said += delta.args
    else part.waiting += delta.args
  }

  function advance(ended: boolean, cut: boolean): PartEvent[] {
    const events: PartEvent[] = []
    for (let part = parts[head]; part; part = parts[head]) {
      const followed = parts.some((later, at) => at > head && isSubstantial(later))
      if (isSayable(part, ended) || (ended && !followed && isOnlyPart(part))) say(part, ended, events)
      if (!ended && !(followed && isCloseable(part))) return events
      if (part.open) events.push({ type: 'close', part: part.open, text: part.said, cut: cut && isLast(part) })
      part.closed = true
      head++
    }
    return events
  }

  function isLast(part: Part): boolean {
    return part === parts.findLast(isSubstantial)
  }

  function say(part: Part, ended: boolean, events: PartEvent[]): void {
    if (ended && part.kind === 'tool' && soFar(part) === '') part.waiting = '{}'
    if (!part.open) {
      part.open = part.kind === 'tool' ? { kind: 'tool', id: callId(part), name: part.name } : { kind: part.kind }
      events.push({ type: 'open', part: part.open })
    }
    if (part.waiting !== '') events.push({ type: 'delta', part: part.open, text: part.waiting })
    part.said += part.waiting
    part.waiting = ''
  }

  function callId(part: Part): string {
    const taken = parts.some((other) => other.open?.kind === 'tool' && other.open.id === part.id)
    return part.id === null || taken ? newId('call_') : part.id
  }

  function isOnlyPart(part: Part): boolean {
    return part.kind !== 'tool' && !parts.some((other) => other.open !== null)
  }

  return {
    push(delta) {
      take('reasoning', delta.reasoning)
      take('text', delta.text)
      take('refusal', delta.refusal)
      for (const tool of delta.tools) takeTool(tool, delta.tools.length)
      return advance(false, false)
    },
    end: (cut) => advance(true, cut),
    has: (kind) => parts.some((part) => part.open?.kind === kind),
    brokenCall: () => {
      const calls = parts.filter((part) => part.kind === 'tool')
      return calls.find((call) => call.name === '') ?? calls.find((call) => !isComplete(call)) ?? null
    },
  }
}

type Part = {
  readonly kind: OpenPart['kind']
  open: OpenPart | null
  closed: boolean
  /** Handed out. */
  said: string
  /** Not handed out yet. */
  waiting: string
  // Of a tool call:
  index: number | null
  id: string | null
  name: string
}

function addPart(parts: Part[], kind: Part['kind']): Part {
  const part: Part = { kind, open: null, closed: false, said: '', waiting: '', index: null, id: null, name: '' }
  parts.push(part)
  return part
}

/**
 * The call that a piece belongs to, null for a new one: by `index`; where an engine leaves that out, by id; where it
 * leaves out both, by its place among the pieces of one chunk, else the latest. An engine that gives every call the
 * same number tells a new one by another id, or by a name after complete arguments.
 */
function findCall(parts: Part[], delta: ToolDelta, among: number): Part | null {
  const calls = parts.filter((part) => part.kind === 'tool')
  if (delta.index === null && delta.id !== null) return calls.find((call) => call.id === delta.id) ?? null
  const known =
    delta.index !== null
      ? calls.findLast((call) => call.index === delta.index)
      : among > 1
        ? calls[delta.position]
        : calls.at(-1)
  return known && !startsAnother(known, delta) ? known : null
}

function startsAnother(known: Part, delta: ToolDelta): boolean {
  if (delta.name === '') return false
  if (delta.id !== null && known.id !== null) return delta.id !== known.id
  return delta.args !== '' && isComplete(known)
}

function isSayable(part: Part, ended: boolean): boolean {
  if (part.kind !== 'tool') return isSubstantial(part)
  return part.name !== '' && (ended || part.waiting !== '')
}

function isSubstantial(part: Part): boolean {
  return part.kind === 'tool' || part.said !== '' || part.waiting.trim() !== ''
}

function isCloseable(part: Part): boolean {
  return part.kind !== 'tool' || isComplete(part)
}

function isComplete(call: Part): boolean {
  const args = soFar(call).trimEnd()
  return args.endsWith('}') && parseObject(args) !== null
}

function soFar(part: Part): string {
  return part.said + part.waiting
}
