import { toInput } from './custom-tools.ts'
import { backendFailed } from './failure.ts'
import { parseObject } from './json/read-json.ts'
import type { AnswerEvent, PartEvent } from './neutral.ts'

/** A step between the reader of a backend's answer and the writer of the client's, made anew for each answer. */
export type Stage = (event: AnswerEvent) => readonly AnswerEvent[]

/** Custom calls that came as functions of one text become free text again. It is known once the arguments are whole. */
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

/** Fails an answer with a call whose arguments are no JSON object, for a dialect that has arguments as objects. */
export function requireObjects(): Stage {
  let broken: string | null = null
  return (event) => {
    if (event.type === 'close' && event.part.kind === 'tool' && event.part.tool.kind === 'function' && !event.cut) {
      if (parseObject(event.text) === null) broken ??= event.part.tool.name
    }
    if (event.type !== 'finish' || broken === null || CUT.has(event.finish)) return [event]
    const failure = backendFailed(`The model called ${broken} with broken JSON.`)
    return [{ type: 'fail', failure, usage: event.usage }]
  }
}

const CUT: ReadonlySet<string> = new Set(['length', 'context', 'filter'])

/**
 * Holds the end of a reasoning part back until the next event, which tells the call that the reasoning precedes: a
 * client may move its calls behind all else before it sends the turn back.
 */
export function addFollowingCall(): Stage {
  let held: (PartEvent & { readonly type: 'close' }) | null = null
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
 * Ends the text at the first stop sequence, for a backend that knows none. So many characters are held back that a
 * sequence which is cut by two deltas is found.
 */
export function enforceStops(stops: readonly string[]): Stage {
  const kept = Math.max(0, ...stops.map(({ length }) => length)) - 1
  let text = ''
  let sent = 0
  let over = false

  return (event) => {
    if (over) return []
    if (!('part' in event) || event.part.kind !== 'text') return [event]
    const { part } = event
    const show = (upTo: number): AnswerEvent[] => {
      if (upTo <= sent) return []
      const delta = text.slice(sent, upTo)
      sent = upTo
      return [{ type: 'delta', part, text: delta }]
    }
    if (event.type === 'open') {
      text = ''
      sent = 0
      return [event]
    }
    if (event.type === 'close') return [...show(text.length), event]
    text += event.text
    const match = findFirst(text, stops, Math.max(0, sent - kept))
    if (!match) return show(Math.max(sent, text.length - kept))
    over = true
    return [
      ...show(match.at),
      { type: 'close', part, text: text.slice(0, match.at), cut: false, seal: null },
      { type: 'finish', finish: 'stopSequence', stopSequence: match.stop, usage: null },
    ]
  }
}

function findFirst(text: string, stops: readonly string[], from: number): { at: number; stop: string } | null {
  let first: { at: number; stop: string } | null = null
  for (const stop of stops) {
    const at = text.indexOf(stop, from)
    if (at !== -1 && (first === null || at < first.at)) first = { at, stop }
  }
  return first
}
