import { makeObjectEnd } from '../json/object-end.ts'
import type { ObjectEnd } from '../json/object-end.ts'
import type { ToolDelta } from './chunk.ts'

/** A tool call, as far as it is known. */
export type Call = {
  readonly kind: 'tool'
  index: number | null
  id: string | null
  name: string
  /** There are arguments. */
  hasBegun: boolean
  /** It is the call of a custom tool. */
  isFreeText: boolean
  /** The end of the arguments of a function. */
  readonly argsEnd: ObjectEnd
}

/** The tool calls of one chat answer. */
type Calls = {
  /**
   * Finds the call that a fragment belongs to; null for a new call. The `index` decides, else the id. Without both, the
   * position decides when the chunk has several fragments, else it is the latest call. Some engines give every call the
   * same index; then another id, or a name after complete arguments, starts a new call.
   */
  find(delta: ToolDelta, inChunk: number): Call | null
  /** Adds a new call, of which nothing is known yet. */
  add(): Call
  /** Sets the index and the id of a call, where it has none yet. */
  identify(call: Call, delta: ToolDelta): void
}

/** Finds the tool call that each fragment of a chat answer belongs to. */
export function makeCalls(): Calls {
  const calls: Call[] = []
  const byIndex = new Map<number, Call>()
  const byId = new Map<string, Call>()
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
    add() {
      const call = newCall()
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
        byId.set(id, call)
      }
    },
  }
}

function newCall(): Call {
  const argsEnd = makeObjectEnd()
  return { kind: 'tool', index: null, id: null, name: '', hasBegun: false, isFreeText: false, argsEnd }
}

function startsNewCall(known: Call, delta: ToolDelta): boolean {
  if (delta.name === '') return false
  if (delta.id !== null && known.id !== null) return delta.id !== known.id
  return delta.args !== '' && known.argsEnd.isReached()
}
