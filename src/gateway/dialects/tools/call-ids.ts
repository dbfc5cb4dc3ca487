import { hash } from 'node:crypto'
import type { Part, Turn } from '../neutral.ts'
import { isValidName } from './tool-names.ts'

/** The limit of most vendors for the id of a call. */
const MAX_ID_CHARACTERS = 64

/**
 * Returns a call id that the vendors accept: the same id, or a digest, so that calls and results still match. A digest
 * is short enough for every vendor.
 */
export function toCallId(id: string, maxLength: number = MAX_ID_CHARACTERS): string {
  return isValidName(id, maxLength) ? id : `call_${hash('sha256', id, 'base64url').slice(0, 35)}`
}

/** The ids of all calls of a conversation, as the client got them. */
export function listCallIds(turns: readonly Turn[]): string[] {
  return turns.flatMap(({ parts }) => parts.flatMap((part) => (part.type === 'call' ? [toCallId(part.id)] : [])))
}

/**
 * Returns the turns with a different id for each call. Vendors refuse a conversation in which two calls have one id,
 * and some engines count the calls of every answer from zero. A result belongs to the first call of its id that waits
 * for one, or to the latest call. The same conversation always gets the same ids. `listed`: the ids of all calls
 * (`listCallIds`).
 */
export function separateCalls(turns: readonly Turn[], listed: readonly string[]): readonly Turn[] {
  if (new Set(listed).size === listed.length) return turns
  const ids = new CallIds()
  return turns.map((turn) => {
    const parts = turn.parts.map((part) => {
      if (part.type === 'call') return { ...part, id: ids.ofCall(part.id) }
      return part.type === 'result' ? { ...part, callId: ids.ofResult(part.callId) } : part
    })
    // What the user says next ends a turn whose calls were never carried out.
    if (turn.role === 'user' && turn.parts.some(({ type }) => type !== 'result')) ids.stopWaiting()
    return { ...turn, parts }
  })
}

/**
 * Returns the turns with one result for each call. A client that sends a result again after a lost answer keeps both in
 * its conversation, and vendors refuse two results of one call. The last one counts, in the place of the first.
 */
export function keepLastResults(turns: readonly Turn[]): readonly Turn[] {
  const results = turns.flatMap(({ parts }) => parts.filter((part) => part.type === 'result'))
  const last = new Map(results.map((result) => [result.callId, result]))
  if (last.size === results.length) return turns
  const keep = (part: Part): Part[] => {
    if (part.type !== 'result') return [part]
    const kept = last.get(part.callId)
    last.delete(part.callId)
    return kept ? [kept] : []
  }
  return turns.map((turn) => ({ ...turn, parts: turn.parts.flatMap(keep) }))
}

class CallIds {
  readonly #counts = new Map<string, number>()
  readonly #latest = new Map<string, string>()
  /** The calls without a result: the ids of all calls, and how many of them have one. */
  readonly #waiting = new Map<string, { readonly ids: string[]; answered: number }>()

  ofCall(id: string): string {
    const count = (this.#counts.get(id) ?? 0) + 1
    const own = count === 1 ? id : `${id}#${count}`
    this.#counts.set(id, count)
    this.#latest.set(id, own)
    const waiting = this.#waiting.get(id) ?? { ids: [], answered: 0 }
    waiting.ids.push(own)
    this.#waiting.set(id, waiting)
    return own
  }

  ofResult(id: string): string {
    const waiting = this.#waiting.get(id)
    return waiting?.ids[waiting.answered++] ?? this.#latest.get(id) ?? id
  }

  stopWaiting(): void {
    this.#waiting.clear()
  }
}
