/**
 * Spreads sessions over backends by rendezvous hashing: each session orders the backends by scores of its own. When a
 * backend comes or goes, only the sessions that it serves move, and all processes choose the same one.
 */

type Target = { readonly backend: string; readonly model: string; readonly weight: number }

/** The score of a backend for a session: the highest is chosen, as often as its share of all weights. */
export function scoreOf(session: string, { backend, model, weight }: Target): number {
  return -weight / Math.log(toUnit(`${session}\n${backend}\n${model}`))
}

/** A number between 0 and 1, without both, from the hash of a text. */
function toUnit(text: string): number {
  return (mix(hashOf(text)) + 0.5) / 2 ** 32
}

/** FNV-1a of 32 bits. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return hash
}

/** The last step of MurmurHash3, without which texts that differ in their last letter have almost the same hash. */
function mix(hash: number): number {
  let mixed = hash ^ (hash >>> 16)
  mixed = Math.imul(mixed, 0x85ebca6b)
  mixed ^= mixed >>> 13
  mixed = Math.imul(mixed, 0xc2b2ae35)
  return (mixed ^ (mixed >>> 16)) >>> 0
}
