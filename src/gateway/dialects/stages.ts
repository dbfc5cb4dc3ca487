import type { NewId } from './dialect.ts'
import { answerFailed } from './failures/failure.ts'
import { parseObject } from './json/read-json.ts'
import type { AnswerEvent, CloseEvent, OpenPart, PartEvent } from './neutral.ts'
import { toInput } from './tools/custom-tools.ts'
import { toCallId } from './tools/call-ids.ts'

/** A step between the reader of a backend's answer and the writer of the client's answer. Made for each answer. */
export type Stage = (event: AnswerEvent) => readonly AnswerEvent[]

/**
 * Gives a call of the answer another id where the conversation has a call with its id already. Some engines count the
 * calls of every answer from zero, and clients and vendors know a call by its id.
 */
export function renewCallIds(used: ReadonlySet<string>, newId: NewId): Stage {
  let renewed: OpenPart | null = null
  return (event) => {
    if (!('part' in event) || event.part.kind !== 'tool') return [event]
    const { part } = event
    if (event.type === 'open') renewed = used.has(toCallId(part.id)) ? { ...part, id: newId('call_') } : null
    return [renewed ? { ...event, part: renewed } : event]
  }
}

/** Turns calls of functions that replaced custom tools back into free text, when their arguments are complete. */
export function unwrapCustomTools(): Stage {
  const isCustom = (event: AnswerEvent): event is PartEvent =>
    'part' in event && event.part.kind === 'tool' && event.part.tool.kind === 'custom'
  return (event) => {
    if (!isCustom(event) || event.type === 'open') return [event]
    if (event.type === 'delta') return []
    const text = toInput(event.text)
    return [
      { type: 'delta', part: event.part, text },
      { ...event, text },
    ]
  }
}

/** Fails an answer in which the arguments of a call are not a JSON object, for a dialect that requires objects. */
export function requireObjects(): Stage {
  let broken: string | null = null
  return (event) => {
    if (event.type === 'close' && event.part.kind === 'tool' && event.part.tool.kind === 'function' && !event.cut) {
      if (parseObject(event.text) === null) broken ??= event.part.tool.name
    }
    if (event.type !== 'finish' || broken === null || CUT.has(event.finish)) return [event]
    const failure = answerFailed(`The model called ${broken} with broken JSON.`)
    return [{ type: 'fail', failure, usage: event.usage }]
  }
}

const CUT: ReadonlySet<string> = new Set(['length', 'context', 'filter', 'blocked'])

/** Leaves only the text of an answer that is a summary, as one part. An answer without a text fails. */
export function keepSummary(): Stage {
  const part = { kind: 'text' } as const
  let text = ''
  return (event) => {
    if ('part' in event) {
      if (event.type === 'close' && event.part.kind === 'text') text += event.text
      return []
    }
    if (event.type !== 'finish') return [event]
    if (text === '') return [{ type: 'fail', failure: answerFailed(NO_SUMMARY), usage: event.usage }]
    return [{ type: 'open', part }, { type: 'close', part, text, cut: false, seal: null }, event]
  }
}

const NO_SUMMARY = 'The model wrote no summary of the conversation.'

/**
 * Adds the id of the following call to the seal of a reasoning part. It holds the end of the part back until the next
 * event. The id is needed because a client may move its calls to the end of a turn before it sends the turn back.
 */
export function addFollowingCall(): Stage {
  let held: CloseEvent | null = null
  return (event) => {
    const before = held
    held = null
    if (event.type === 'close' && event.seal !== null) held = event
    const now: AnswerEvent[] = held === null ? [event] : []
    if (!before?.seal) return now
    const isCall = event.type === 'open' && event.part.kind === 'tool'
    return [{ ...before, seal: { ...before.seal, before: isCall ? event.part.id : null } }, ...now]
  }
}

/**
 * Ends the text at the first stop sequence, for a backend that has no stop sequences. The last characters are held
 * back, so that a sequence which spans two deltas is found.
 */
export function enforceStops(stops: readonly string[]): Stage {
  const kept = Math.max(0, ...stops.map(({ length }) => length)) - 1
  /** The text of the part: what was sent, and its end that is held back. */
  let sent = ''
  let held = ''
  let hasCall = false
  let over = false

  return (event) => {
    if (over) return []
    if (event.type === 'close' && event.part.kind === 'tool') hasCall = true
    if (!('part' in event) || event.part.kind !== 'text') return [event]
    const { part } = event
    const show = (length: number): AnswerEvent[] => {
      if (length <= 0) return []
      const text = held.slice(0, length)
      sent += text
      held = held.slice(length)
      return [{ type: 'delta', part, text }]
    }
    if (event.type === 'open') {
      sent = ''
      held = ''
      return [event]
    }
    if (event.type === 'close') return [...show(held.length), event]
    held += event.text
    const match = findFirst(held, stops)
    if (!match) return show(withoutHalfCharacter(held, held.length - kept))
    over = true
    return [
      ...show(match.at),
      { type: 'close', part, text: sent, cut: false, seal: null },
      // The client still has to carry out an earlier call.
      hasCall
        ? { type: 'finish', finish: 'tools', stopSequence: null, usage: null }
        : { type: 'finish', finish: 'stopSequence', stopSequence: match.stop, usage: null },
    ]
  }
}

/** `end`, or one less where half of a character would be before it. Alone it is not valid UTF-8. */
function withoutHalfCharacter(text: string, end: number): number {
  return /[\ud800-\udbff]/.test(text.charAt(end - 1)) ? end - 1 : end
}

type Match = { readonly at: number; readonly end: number; readonly stop: string }

/** The sequence that is complete first, as if the text came one character after the other. */
function findFirst(text: string, stops: readonly string[]): Match | undefined {
  const matches = stops.flatMap((stop): Match[] => {
    const at = text.indexOf(stop)
    return at === -1 ? [] : [{ at, end: at + stop.length, stop }]
  })
  return matches.toSorted((a, b) => a.end - b.end || a.at - b.at)[0]
}
