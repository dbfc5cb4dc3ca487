import type { NewId } from '../dialect.ts'
import { makeObjectEnd } from '../json/object-end.ts'
import type { ObjectEnd } from '../json/object-end.ts'
import type { Json } from '../json/read-json.ts'
import type { AnswerSeal, Citation, OpenPart, PartEvent, ToolRef } from '../neutral.ts'
import type { ChatDelta, ToolDelta } from './chunk.ts'
import { addDetails, sealReplayData } from './replay-data.ts'

/** Turns the deltas of one chat answer into events of its parts. */
export type ChatParts = {
  push(delta: ChatDelta): PartEvent[]
  /**
   * Closes all parts and returns the remaining events. A call without arguments gets `{}`. `cut`: the last part is
   * incomplete.
   */
  end(cut: boolean): PartEvent[]
  /** Whether a part of this kind was opened. */
  has(kind: OpenPart['kind']): boolean
  /** After `end`: whether a call has no name, so that it cannot be carried out. */
  hasNamelessCall(): boolean
}

type Needs = {
  readonly newId: NewId
  /** The client's tool for a name that was sent to the engine. */
  readonly toTool: (name: string) => ToolRef
}

/**
 * Puts the fragments of a chat answer in order: parts open and close one after the other, and a delta belongs to the
 * part that is open. Chat engines may interleave parallel tool calls, which the other dialects cannot express. So the
 * first call streams, and fragments of later parts wait until it is complete or the answer ends. Empty fragments are
 * ignored. Text and reasoning of white space only are dropped, because vendors refuse a history with blank text in it.
 */
export function makeChatParts({ newId, toTool }: Needs): ChatParts {
  const parts: Part[] = []
  const calls = makeCalls()
  /** The ids of the calls that were sent. */
  const ids = new Set<string>()
  let text: Part | null = null
  /** All parts before this index are closed. */
  let firstOpen = 0

  /** The last part, if it is of this kind, or else a new one. */
  function partOf(kind: 'reasoning' | 'text' | 'refusal'): Part {
    const last = parts.at(-1)
    return last?.kind === kind ? last : addPart(parts, kind)
  }

  function take(kind: 'reasoning' | 'text' | 'refusal', fragment: string): void {
    if (fragment === '') return
    const part = partOf(kind)
    part.waiting += fragment
    part.isBlank &&= fragment.trim() === ''
    if (kind === 'text') text = part
  }

  function addCall({ extras }: ToolDelta): Part {
    if (extras) partOf('reasoning').extras = extras
    return calls.add(addPart(parts, 'tool'))
  }

  function takeTool(delta: ToolDelta, inChunk: number): void {
    const part = calls.find(delta, inChunk) ?? addCall(delta)
    calls.identify(part, delta)
    // Some engines repeat the name with every fragment, others send the name in fragments.
    if (fullText(part) === '' && delta.name !== part.name) part.name += delta.name
    part.isFreeText ||= delta.isFreeText
    // A free text may go on behind what looks like its end.
    if (!part.isFreeText) part.argsEnd.push(delta.args)
    // What comes for a closed call is not sent any more. It still counts for where the next call begins.
    if (part.closed) part.sent += delta.args
    else part.waiting += delta.args
  }

  function advance(state: 'streaming' | 'complete' | 'cut'): PartEvent[] {
    const ended = state !== 'streaming'
    const events: PartEvent[] = []
    for (let part = parts[firstOpen]; part; part = parts[firstOpen]) {
      if (canEmit(part, ended) && isTextOrFollowed(part, parts, firstOpen)) emit(part, ended, events)
      if (!ended && !(hasSubstantial(parts, firstOpen + 1) && isCloseable(part))) return events
      if (part.open) events.push(toClose(part, part.open, state === 'cut' && part === parts.findLast(isSubstantial)))
      part.closed = true
      firstOpen++
    }
    return events
  }

  function emit(part: Part, ended: boolean, events: PartEvent[]): void {
    if (ended && part.kind === 'tool' && !part.isFreeText && fullText(part) === '') part.waiting = '{}'
    if (!part.open) {
      part.open = part.kind === 'tool' ? { kind: 'tool', id: toId(part), tool: toTool(part.name) } : { kind: part.kind }
      events.push({ type: 'open', part: part.open })
    }
    const logprobs = part.logprobs.slice(part.sentLogprobs)
    if (part.waiting !== '') {
      events.push({ type: 'delta', part: part.open, text: part.waiting, ...(logprobs.length > 0 && { logprobs }) })
      part.sentLogprobs = part.logprobs.length
    }
    part.sent += part.waiting
    part.waiting = ''
  }

  /** The engine's own id, unless it is missing or another call of this answer has it. */
  function toId({ id }: Part): string {
    const own = id === null || ids.has(id) ? newId('call_') : id
    ids.add(own)
    return own
  }

  return {
    push(delta) {
      take('reasoning', delta.reasoning)
      if (delta.details.length > 0) addDetails(partOf('reasoning').details, delta.details)
      take('text', delta.text)
      text?.logprobs.push(...delta.logprobs)
      text?.citations.push(...delta.citations)
      take('refusal', delta.refusal)
      for (const tool of delta.tools) takeTool(tool, delta.tools.length)
      return advance('streaming')
    },
    end: (cut) => advance(cut ? 'cut' : 'complete'),
    has: (kind) => parts.some((part) => part.open?.kind === kind),
    hasNamelessCall: () => parts.some((part) => part.kind === 'tool' && part.name === ''),
  }
}

/** Most chat servers do not sign reasoning. Its seal then only records which backend wrote the text. */
const UNSIGNED: AnswerSeal = { kind: 'plain', data: '', before: null }

function toClose(closed: Part, part: OpenPart, cut: boolean): PartEvent {
  const { sent: text, logprobs, citations } = closed
  const sealed = hasReplayData(closed) ? sealReplayData(closed) : UNSIGNED
  const seal = part.kind === 'reasoning' ? sealed : null
  return {
    type: 'close',
    part,
    text,
    cut,
    seal,
    ...(logprobs.length > 0 && { logprobs }),
    ...(citations.length > 0 && { citations }),
  }
}

type Part = {
  readonly kind: Exclude<OpenPart['kind'], 'search'>
  open: OpenPart | null
  closed: boolean
  /** The text of the deltas so far. */
  sent: string
  /** Text that has been received and not sent yet. */
  waiting: string
  /** Whether the text has only white space. */
  isBlank: boolean
  // The members below are set for a text only.
  readonly logprobs: unknown[]
  sentLogprobs: number
  readonly citations: Citation[]
  // The next two members are replay data. They are set for reasoning only.
  readonly details: Json[]
  /** The additions of the next call. */
  extras: Json | null
  // The members below are set for a tool call only.
  index: number | null
  id: string | null
  name: string
  /** It is the call of a custom tool. */
  isFreeText: boolean
  /** The end of the arguments of a function. */
  readonly argsEnd: ObjectEnd
}

function addPart(parts: Part[], kind: Part['kind']): Part {
  const part: Part = {
    kind,
    open: null,
    closed: false,
    sent: '',
    waiting: '',
    isBlank: true,
    logprobs: [],
    sentLogprobs: 0,
    citations: [],
    details: [],
    extras: null,
    index: null,
    id: null,
    name: '',
    isFreeText: false,
    argsEnd: makeObjectEnd(),
  }
  parts.push(part)
  return part
}

/** The calls of one answer. */
type Calls = {
  /**
   * Finds the call that a fragment belongs to; null for a new call. The `index` decides, else the id. Without both, the
   * position decides when the chunk has several fragments, else it is the latest call. Some engines give every call the
   * same index; then another id, or a name after complete arguments, starts a new call.
   */
  find(delta: ToolDelta, inChunk: number): Part | null
  add(call: Part): Part
  /** Sets the index and the id of a call, where it has none yet. */
  identify(call: Part, delta: ToolDelta): void
}

function makeCalls(): Calls {
  const calls: Part[] = []
  const byIndex = new Map<number, Part>()
  const byId = new Map<string, Part>()
  const known = ({ index, position }: ToolDelta, inChunk: number) => {
    if (index !== null) return byIndex.get(index)
    return inChunk > 1 ? calls[position] : calls.at(-1)
  }
  return {
    find(delta, inChunk) {
      if (delta.index === null && delta.id !== null) return byId.get(delta.id) ?? null
      const call = known(delta, inChunk)
      return call && !startsNewCall(call, delta) ? call : null
    },
    add(call) {
      calls.push(call)
      return call
    },
    identify(call, { index, id }) {
      if (call.index === null && index !== null) {
        call.index = index
        byIndex.set(index, call)
      }
      if (call.id === null && id !== null) {
        call.id = id
        if (!byId.has(id)) byId.set(id, call)
      }
    },
  }
}

function startsNewCall(known: Part, delta: ToolDelta): boolean {
  if (delta.name === '') return false
  if (delta.id !== null && known.id !== null) return delta.id !== known.id
  return delta.args !== '' && known.argsEnd.isReached()
}

function canEmit(part: Part, ended: boolean): boolean {
  if (part.kind !== 'tool') return isSubstantial(part)
  return part.name !== '' && (ended || part.waiting !== '')
}

/**
 * Whether a part has a text, is a call, or is followed by another part. Reasoning without a text is sent only where
 * something follows it: Claude Code prints nothing when reasoning is the last block of an answer, and vendors require
 * reasoning back before calls only.
 */
function isTextOrFollowed(part: Part, parts: readonly Part[], at: number): boolean {
  return part.kind === 'tool' || fullText(part) !== '' || hasSubstantial(parts, at + 1)
}

function isSubstantial(part: Part): boolean {
  return part.kind === 'tool' || part.sent !== '' || !part.isBlank || hasReplayData(part)
}

function hasReplayData({ extras, details }: Part): boolean {
  return extras !== null || details.length > 0
}

function hasSubstantial(parts: readonly Part[], from: number): boolean {
  for (let part = parts[from]; part; part = parts[++from]) if (isSubstantial(part)) return true
  return false
}

function isCloseable(part: Part): boolean {
  return part.kind !== 'tool' || part.argsEnd.isReached()
}

function fullText(part: Part): string {
  return part.sent + part.waiting
}
