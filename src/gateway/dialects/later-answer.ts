import { isGiven } from './json/read-json.ts'
import type { Json } from './json/read-json.ts'
import type { Refusal } from './refusal.ts'

/**
 * Refuses a request whose answer the client fetches later, which it asks for by this member. No route does that. The
 * vendor would bill the answer after the call, unseen by usage and spending limits, also when it streams and the caller
 * leaves.
 */
export function judgeLaterAnswer(body: Json, member: string): Refusal | null {
  if (!isGiven(body[member]) || body[member] === false) return null
  return { param: member, message: `Answers cannot be fetched later here: leave ${member} out.` }
}
