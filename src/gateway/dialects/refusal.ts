import { isGiven, readName } from './json/read-json.ts'
import type { Json } from './json/read-json.ts'

/**
 * Why a request cannot be translated, or sent at all. The client gets a 400 with the parameter and the message. `lost`:
 * the request is the rest of a conversation that is not here, and the client gets the code of its vendor, by which it
 * sends all of it.
 */
export type Refusal = { readonly param: string; readonly message: string; readonly lost?: LostConversation }

type LostConversation = 'thread_not_found' | 'previous_response_not_found'

class RefusedError extends Error {
  readonly refusal: Refusal

  constructor(refusal: Refusal) {
    super(refusal.message)
    this.refusal = refusal
  }
}

/** Ends the translation that `orRefused` runs. `param` is a path in the client's body: `messages.3.content.0`. */
export function refuse(param: string, message: string): never {
  throw new RefusedError({ param, message })
}

/** Refuses the members of a request that are given. `messages`: what the client should do instead, by their names. */
export function refuseMembers(body: Json, messages: Readonly<Record<string, string>>): void {
  for (const [param, message] of Object.entries(messages)) if (isSet(body[param])) refuse(param, message)
}

function isSet(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : isGiven(value)
}

/** Ends the translation of a request that only has what is new in a conversation. */
export function refuseRest(param: string, message: string, lost: LostConversation): never {
  throw new RefusedError({ param, message, lost })
}

/** Runs a translation and returns its result, or the refusal that ended it. */
export function orRefused<T>(translate: () => T): T | { refused: Refusal } {
  try {
    return translate()
  } catch (error) {
    if (error instanceof RefusedError) return { refused: error.refusal }
    throw error
  }
}

/** What the dialect has in place of content of other dialects, by the types that those have. */
export type InsteadOf = ReadonlyMap<unknown, string>

/** Refuses a part of a message that is of another dialect, or whose type no model of another dialect can get. */
export function refuseContent(type: unknown, path: string, insteadOf: InsteadOf): never {
  const name = readName(type) ?? 'unknown'
  const own = insteadOf.get(type)
  if (own) refuse(path, `Content of type ${name} is of another dialect: send it as ${own}.`)
  return refuse(path, `This model reads no content of type ${name}: leave it out or send it as text.`)
}

/** Refuses the result of a tool whose call is not in the conversation. `path` is the place of the call's id. */
export function refuseResult(path: string, callId: string): never {
  return refuse(path, `No tool call with the id ${callId} comes before this result.`)
}

/** The refusal of audio, for a model or a dialect without it. */
export const NO_AUDIO = 'This model reads no audio: send a transcript, or choose a model that reads audio.'
