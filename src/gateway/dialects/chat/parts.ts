import type { NewId } from '../dialect.ts'
import type { Json } from '../json/read-json.ts'
import type { AnswerSeal, Citation, OpenPart, PartEvent, ToolRef } from '../neutral.ts'
import { makePartQueue } from '../parts/part-queue.ts'
import type { GivenEnd, PartQueue } from '../parts/part-queue.ts'
import type { ChatDelta, ToolDelta } from './chunk.ts'
import { addDetails, sealReplayData } from './replay-data.ts'
import { makeCalls } from './tool-calls.ts'
import type { Call } from './tool-calls.ts'

/** Turns the deltas of one chat answer into events of its parts. */
export type ChatParts = Pick<PartQueue<Part>, 'end' | 'has' | 'hasNamelessCall'> & {
  push(delta: ChatDelta): PartEvent[]
}

type Needs = {
  readonly newId: NewId
  /** The client's tool for a name that was sent to the engine. */
  readonly toTool: (name: string) => ToolRef
}

/**
 * Finds the part that each fragment of a chat answer belongs to. Nothing in the answer says where a part ends: it ends
 * when another one with a content follows. Chat engines may interleave parallel tool calls, so a call ends only when
 * its arguments are complete too. Until then, what follows it waits. Empty fragments are ignored.
 */
export function makeChatParts({ newId, toTool }: Needs): ChatParts {
  const queue = makePartQueue<Part>(newId)
  const calls = makeCalls()
  /** The parts that are not closed, in their order. The last part is always one of them. */
  const open: Part[] = []
  /** The text that is not closed; null: there is none. */
  let text: Content | null = null
  /** The length of all texts, which the dialect joins. */
  let textLength = 0
  /** Citations that came before their text, because some servers search before they answer. The next text gets them. */
  const early: Citation[] = []
  /** The events of the delta that is read now. */
  let events: PartEvent[] = []

  function emit(more: PartEvent[]): void {
    // Most deltas have one fragment, whose events need no copy.
    if (events.length === 0) events = more
    else events.push(...more)
  }

  function add<Added extends Part>(part: Added, opened: OpenPart): Added {
    open.push(part)
    emit(queue.open(part, opened))
    return part
  }

  /** The last part, if it is of this kind, or else a new one. */
  function contentOf(kind: Content['kind']): Content {
    const last = open.at(-1)
    return last && last.kind !== 'tool' && last.kind === kind ? last : add(newContent(kind, textLength), { kind })
  }

  function take(kind: Content['kind'], fragment: string): void {
    if (fragment !== '') addText(contentOf(kind), fragment)
  }

  function takeText({ text: fragment, logprobs, citations }: ChatDelta): void {
    early.push(...citations)
    if (fragment !== '') text = contentOf('text')
    if (!text) return
    if (fragment !== '' || logprobs.length > 0) addText(text, fragment, logprobs)
    textLength += fragment.length
    const { start } = text
    text.citations.push(...early.splice(0).map((citation) => moveRange(citation, start)))
  }

  function addText(part: Content, fragment: string, logprobs?: readonly unknown[]): void {
    part.isBlank &&= fragment.trim() === ''
    emit(queue.delta(part, fragment, logprobs))
  }

  function addCall({ extras }: ToolDelta): Call {
    if (extras) contentOf('reasoning').extras = extras
    const call = calls.add()
    return add(call, toOpen(call))
  }

  function takeTool(delta: ToolDelta, inChunk: number): void {
    const call = calls.find(delta, inChunk) ?? addCall(delta)
    calls.identify(call, delta)
    // Some engines repeat the name with every fragment, others send the name in fragments.
    if (!call.hasBegun && delta.name !== call.name) call.name += delta.name
    call.isFreeText ||= delta.isFreeText
    // A free text may go on behind what looks like its end.
    if (!call.isFreeText) call.argsEnd.push(delta.args)
    if (delta.args === '') return
    // Now the name is complete.
    if (!call.hasBegun) emit(queue.open(call, toOpen(call)))
    call.hasBegun = true
    emit(queue.delta(call, delta.args))
  }

  function toOpen({ id, name }: Call): OpenPart {
    return { kind: 'tool', id: id ?? '', tool: toTool(name) }
  }

  function closeFollowed(): void {
    for (let first = open[0]; first && isComplete(first) && hasFollower(open); first = open[0]) {
      emit(queue.close(first, toEnd(first, true)))
      open.shift()
      if (first === text) text = null
    }
  }

  return {
    push(delta) {
      events = []
      take('reasoning', delta.reasoning)
      if (delta.details.length > 0) addDetails(contentOf('reasoning').details, delta.details)
      takeText(delta)
      take('refusal', delta.refusal)
      for (const tool of delta.tools) takeTool(tool, delta.tools.length)
      closeFollowed()
      return events
    },
    end(cut) {
      const last = open.findLast(hasContent)
      return open.flatMap((part) => [
        // A call without arguments is not named yet.
        ...(part.kind === 'tool' ? queue.open(part, toOpen(part)) : []),
        ...queue.close(part, { ...toEnd(part, part !== last), cut: cut && part === last }),
      ])
    },
    has: queue.has,
    hasNamelessCall: queue.hasNamelessCall,
  }
}

type Part = Content | Call

/** A part that is no tool call. */
type Content = {
  readonly kind: 'reasoning' | 'text' | 'refusal'
  /** Whether the text has only white space. */
  isBlank: boolean
  /** Of a text: where it begins in all texts. */
  readonly start: number
  /** Of a text. */
  readonly citations: Citation[]
  // The next two members are replay data, which only reasoning has.
  readonly details: Json[]
  /** The additions of the next call. */
  extras: Json | null
}

function newContent(kind: Content['kind'], start: number): Content {
  return { kind, isBlank: true, start, citations: [], details: [], extras: null }
}

/** Makes the range of a citation relative to the text that begins at `start`; null where it is in an earlier text. */
function moveRange({ range, ...page }: Citation, start: number): Citation {
  const isInside = range !== null && range.start >= start
  return { ...page, range: isInside ? { start: range.start - start, end: range.end - start } : null }
}

/** Most chat servers do not sign reasoning. Its seal then only records which backend wrote the text. */
const UNSIGNED: AnswerSeal = { kind: 'plain', data: '', before: null }

function toEnd(part: Part, isFollowed: boolean): GivenEnd {
  if (part.kind === 'reasoning') return { seal: toSeal(part, isFollowed) }
  return part.kind === 'text' && part.citations.length > 0 ? { citations: part.citations } : {}
}

/**
 * Null for reasoning that is not sent: it is blank, and has no replay data, or nothing follows it. Claude Code prints
 * nothing when reasoning is the last block of an answer, and vendors require reasoning back before calls only.
 */
function toSeal(part: Content, isFollowed: boolean): AnswerSeal | null {
  if (hasReplayData(part)) return part.isBlank && !isFollowed ? null : sealReplayData(part)
  return part.isBlank ? null : UNSIGNED
}

function hasReplayData({ extras, details }: Content): boolean {
  return extras !== null || details.length > 0
}

function hasContent(part: Part): boolean {
  return part.kind === 'tool' || !part.isBlank || hasReplayData(part)
}

/** Whether a part with a content follows the first one. */
function hasFollower(parts: readonly Part[]): boolean {
  return parts.length > 1 && parts.findLastIndex(hasContent) > 0
}

function isComplete(part: Part): boolean {
  return part.kind !== 'tool' || part.argsEnd.isReached()
}
