import type { ModelCaps } from '../caps.ts'
import type { CacheMark, NeutralRequest, Part, Tool, Turn } from '../neutral.ts'

/** The vendors' limit for cache marks in one request. */
const MAX_MARKS = 4

/**
 * Returns the request with the cache marks that its backend supports, for a dialect that has none on tools and on their
 * results: the mark of a tool moves to the last system part, and that of a result to its last part. Other marks of the
 * client stay where they are, because a mark at another place would miss the cache. When there are too many, the
 * earliest ones of the messages are removed first.
 */
export function planPartMarks(request: NeutralRequest, caps: ModelCaps): NeutralRequest {
  if (caps.cacheMarks === 'none') return withoutMarks(request)
  return hasMarks(request) ? dropOverflow(moveResultMarks(moveToolMarks(request))) : request
}

/**
 * The same for a dialect that has marks on tools and on their results, and refuses a long mark behind a short one. Sets
 * marks when the client set none.
 */
export function planAllMarks(request: NeutralRequest, caps: ModelCaps): NeutralRequest {
  if (caps.cacheMarks === 'none') return withoutMarks(request)
  if (hasMarks(request)) return dropOverflow(shortenLaterMarks(request))
  return caps.cacheMarks === 'explicit' ? setMarks(request) : request
}

/** Makes each long mark behind a short one short. Its place stays cached. */
function shortenLaterMarks(request: NeutralRequest): NeutralRequest {
  let isShort = false
  const shorten = (part: Part): Part => {
    if (!part.mark) return part
    isShort ||= part.mark.ttl === 'short'
    return isShort ? { ...part, mark: { ttl: 'short' } } : part
  }
  const shortenPart = (part: Part): Part =>
    shorten(part.type === 'result' ? { ...part, parts: part.parts.map(shorten) } : part)
  return {
    ...request,
    turns: request.turns.map((turn) => ({ ...turn, parts: turn.parts.map(shortenPart) })),
  }
}

/** Whether the client set a mark anywhere. */
export function hasMarks(request: NeutralRequest): boolean {
  return countMarks(request) > 0
}

function withoutMarks(request: NeutralRequest): NeutralRequest {
  if (!hasMarks(request)) return request
  return {
    ...request,
    tools: request.tools.map(unmarkTool),
    turns: request.turns.map((turn) => (turn.parts.some(isMarked) ? { ...turn, parts: turn.parts.map(unmark) } : turn)),
  }
}

function unmark(part: Part): Part {
  const own = unmarkSelf(part)
  return own.type === 'result' ? { ...own, parts: own.parts.map(unmark) } : own
}

/** Removes the mark of a part, and not those inside of a result. */
function unmarkSelf({ mark: _, ...rest }: Part): Part {
  return rest
}

function unmarkTool(tool: Tool): Tool {
  const { mark: _, ...rest } = tool
  return rest
}

function countMarks({ tools, turns }: NeutralRequest): number {
  const parts = turns.flatMap((turn) => turn.parts.flatMap(withInner))
  return tools.filter(({ mark }) => mark).length + parts.filter(({ mark }) => mark).length
}

/** A part, and those of a result. */
function withInner(part: Part): readonly Part[] {
  return part.type === 'result' ? [...part.parts, part] : [part]
}

function isMarked(part: Part): boolean {
  return withInner(part).some(({ mark }) => mark)
}

/** Sets marks on the last tool, the last leading system part and the last part of the conversation. */
function setMarks(request: NeutralRequest): NeutralRequest {
  const mark: CacheMark = { ttl: 'short' }
  const leading = leadingSystem(request.turns)
  const lastTool = request.tools.findLastIndex((tool) => tool.kind !== 'hosted')
  const isMarkable = ({ type }: Part): boolean => type !== 'reasoning' && type !== 'toolsAdded'
  const lastTurn = request.turns.findLastIndex(({ parts }) => parts.some(isMarkable))
  const markLast = (turn: Turn): Turn => {
    const last = turn.parts.findLastIndex(isMarkable)
    return { ...turn, parts: turn.parts.map((part, at) => (at === last ? { ...part, mark } : part)) }
  }
  return {
    ...request,
    tools: request.tools.map((tool, at) => (at === lastTool ? { ...tool, mark } : tool)),
    turns: request.turns.map((turn, at) => (at === leading - 1 || at === lastTurn ? markLast(turn) : turn)),
  }
}

/** The number of system turns at the start of the conversation. */
function leadingSystem(turns: readonly Turn[]): number {
  const first = turns.findIndex(({ role }) => role !== 'system')
  return first === -1 ? turns.length : first
}

function moveToolMarks(request: NeutralRequest): NeutralRequest {
  const mark = request.tools.findLast((tool) => tool.mark)?.mark
  if (!mark) return request
  const last = leadingSystem(request.turns) - 1
  const turns = request.turns.map((turn, at) => {
    if (at !== last) return turn
    const end = turn.parts.length - 1
    return {
      ...turn,
      parts: turn.parts.map((part, nth) => (nth === end ? { ...part, mark: part.mark ?? mark } : part)),
    }
  })
  return { ...request, tools: request.tools.map(unmarkTool), turns }
}

function moveResultMarks(request: NeutralRequest): NeutralRequest {
  return { ...request, turns: request.turns.map((turn) => ({ ...turn, parts: turn.parts.map(moveInside) })) }
}

function moveInside(part: Part): Part {
  const { mark } = part
  if (part.type !== 'result' || !mark) return part
  const end = part.parts.length - 1
  return unmarkSelf({
    ...part,
    parts: part.parts.map((inner, at) => (at === end ? { ...inner, mark: inner.mark ?? mark } : inner)),
  })
}

/**
 * Drops marks in a fixed order, so that the same conversation always keeps the same marks. Tools have none here: only
 * messages clients mark them, and the dialects of their backends cannot.
 */
function dropOverflow(request: NeutralRequest): NeutralRequest {
  let excess = countMarks(request) - MAX_MARKS
  if (excess <= 0) return request
  const drop = (given: Part): Part => {
    const part = given.type === 'result' ? { ...given, parts: given.parts.map(drop) } : given
    if (excess <= 0 || !part.mark) return part
    excess--
    return unmarkSelf(part)
  }
  const leading = leadingSystem(request.turns)
  const later = request.turns.slice(leading).map((turn) => ({ ...turn, parts: turn.parts.map(drop) }))
  const first = request.turns.slice(0, leading).map((turn) => ({ ...turn, parts: turn.parts.map(drop) }))
  return { ...request, turns: [...first, ...later] }
}
