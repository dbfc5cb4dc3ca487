import type { NewId } from '../dialect.ts'
import { parseObject } from '../json/read-json.ts'
import type { OpenPart, PartEvent, ToolRef } from '../neutral.ts'
import type { ChatDelta, ToolDelta } from './chunk.ts'

export type ChatParts = {
  push(delta: ChatDelta): PartEvent[]
  /**
   * Closes what is open and returns what was held back; a call without arguments gets `{}`. `cut`: the last part is not
   * whole.
   */
  end(cut: boolean): PartEvent[]
  /** Whether a part of this kind was opened. */
  has(kind: OpenPart['kind']): boolean
  /** After `end`: whether a call has no name, so that it cannot be carried out. */
  hasNamelessCall(): boolean
}

type Needs = {
  readonly newId: NewId
  /** The tool behind the name that the engine was shown. */
  readonly toTool: (name: string) => ToolRef
}

/**
 * Puts the pieces of a chat answer in order: parts open and close one after the other, and a delta belongs to the part
 * that is open. Chat engines may interleave parallel tool calls and the other dialects cannot express that, so the
 * first call streams and the pieces of later parts wait until it is complete or the answer ends. Empty pieces do
 * nothing. White space between parts is no part of its own, because vendors refuse a history with blank text in it.
 */
export function makeChatParts({ newId, toTool }: Needs): ChatParts {
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
    part[part.closed ? 'said' : 'waiting'] += delta.args
  }

  function advance(ended: boolean, cut: boolean): PartEvent[] {
    const events: PartEvent[] = []
    for (let part = parts[head]; part; part = parts[head]) {
      const followed = parts.some((later, at) => at > head && isSubstantial(later))
      if (isSayable(part, ended) || (ended && !followed && isOnlyPart(part, parts))) say(part, ended, events)
      if (!ended && !(followed && isCloseable(part))) return events
      if (part.open) events.push(toClose(part.open, part.said, cut && part === parts.findLast(isSubstantial)))
      part.closed = true
      head++
    }
    return events
  }

  function say(part: Part, ended: boolean, events: PartEvent[]): void {
    if (ended && part.kind === 'tool' && soFar(part) === '') part.waiting = '{}'
    if (!part.open) {
      part.open =
        part.kind === 'tool'
          ? { kind: 'tool', id: callId(part, parts) ?? newId('call_'), tool: toTool(part.name) }
          : { kind: part.kind }
      events.push({ type: 'open', part: part.open })
    }
    if (part.waiting !== '') events.push({ type: 'delta', part: part.open, text: part.waiting })
    part.said += part.waiting
    part.waiting = ''
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
    hasNamelessCall: () => parts.some((part) => part.kind === 'tool' && part.name === ''),
  }
}

/** Chat servers sign no reasoning, so its seal holds nothing but the fact that it is theirs. */
function toClose(part: OpenPart, text: string, cut: boolean): PartEvent {
  const seal = part.kind === 'reasoning' ? ({ kind: 'plain', data: '', before: null } as const) : null
  return { type: 'close', part, text, cut, seal }
}

type Part = {
  readonly kind: OpenPart['kind']
  open: OpenPart | null
  closed: boolean
  /** What the deltas said so far. */
  said: string
  /** Held back. */
  waiting: string
  // Of a tool call:
  index: number | null
  id: string | null
  name: string
}

/** The engine's own id, unless it is missing or another call of this answer has it. */
function callId({ id }: Part, parts: readonly Part[]): string | null {
  return parts.some(({ open }) => open?.kind === 'tool' && open.id === id) ? null : id
}

function isOnlyPart(part: Part, parts: readonly Part[]): boolean {
  return part.kind !== 'tool' && !parts.some((other) => other.open !== null)
}

function addPart(parts: Part[], kind: Part['kind']): Part {
  const part: Part = { kind, open: null, closed: false, said: '', waiting: '', index: null, id: null, name: '' }
  parts.push(part)
  return part
}

/**
 * The call that a piece belongs to, null for a new one: by `index`; where an engine leaves that out, by id; where it
 * leaves out both, by its place among the pieces of one chunk, else the latest. Where an engine gives every call the
 * same number, another id or a name after complete arguments begins a new one.
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
