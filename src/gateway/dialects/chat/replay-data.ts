/**
 * Replay data: what a vendor requires back unchanged with the next request, and other dialects have no place for.
 *
 * - `extra_content` of a tool call: the signature of Gemini's thought before the call. Gemini answers 400 to a call
 *   without it.
 * - `reasoning_details` of a message (OpenRouter, "Preserving reasoning"): signed or encrypted reasoning, in the order
 *   in which the model wrote it. The vendors behind OpenRouter answer 400 where it is missing or altered.
 *
 * It travels in the seal of reasoning: the additions of a call in that of the reasoning before the call.
 */
import { isObject } from '../../../kernel/json.ts'
import { withoutNulls } from '../../../kernel/without-nulls.ts'
import { parseObject, readCount, readList, readName, readObject, readText } from '../json/read-json.ts'
import type { Json } from '../json/read-json.ts'
import type { AnswerSeal, Seal } from '../neutral.ts'

/** `extras`: the additions of a call; null without. `details`: the reasoning details of a message. */
export type ReplayData = { readonly extras: Json | null; readonly details: readonly Json[] }

/** Reads the additions of a call; null: there are none. */
export function readExtras({ extra_content: extras }: Json): Json | null {
  return isObject(extras) && Object.keys(extras).length > 0 ? extras : null
}

/** Reads the reasoning details of a message, or their fragments in a chunk. */
export function readDetails({ reasoning_details: details }: Json): readonly Json[] {
  return readList(details).filter(isObject)
}

/**
 * Adds details to a list, and joins the fragments of a stream. The fragments of a text or a summary follow each other
 * with one `index`, and a signature comes with the last one. Encrypted data is never in fragments.
 */
export function addDetails(list: Json[], details: readonly Json[]): void {
  for (const detail of details) {
    const last = list.at(-1)
    if (last && isContinuedBy(last, detail)) list.splice(-1, 1, join(last, detail))
    else list.push(detail)
  }
}

const TEXT_MEMBERS: Readonly<Record<string, string>> = { 'reasoning.text': 'text', 'reasoning.summary': 'summary' }

function isContinuedBy(last: Json, next: Json): boolean {
  if (!(readText(last.type) in TEXT_MEMBERS) || last.type !== next.type) return false
  if (readCount(last.index) === null || last.index !== next.index) return false
  const [id, nextId] = [readName(last.id), readName(next.id)]
  return readName(last.signature) === null && (id === null || nextId === null || id === nextId)
}

function join(last: Json, next: Json): Json {
  const member = TEXT_MEMBERS[readText(last.type)] ?? 'text'
  return { ...last, ...withoutNulls(next), [member]: readText(last[member]) + readText(next[member]) }
}

/**
 * Leaves out the reasoning of Claude models that has no signature, because Anthropic refuses it. Reasoning that was cut
 * has none. Call this after all details are joined: a stream may send the signature after the text of the answer.
 */
export function withoutUnsigned(details: readonly Json[]): Json[] {
  const isUnsigned = ({ type, format, signature }: Json) =>
    type === 'reasoning.text' && format === 'anthropic-claude-v1' && readName(signature) === null
  return details.filter((detail) => !isUnsigned(detail))
}

/** Packs replay data into the seal of a reasoning part. */
export function sealReplayData({ extras, details }: ReplayData): AnswerSeal {
  const data = Buffer.from(JSON.stringify({ extras, details })).toString('base64url')
  return { kind: 'signed', data, before: null }
}

/** Reads the replay data in the seal of a chat backend. A seal that `sealReplayData` did not make has none. */
export function unsealReplayData({ kind, data }: Seal): ReplayData {
  const { extras, details } = readObject(kind === 'signed' && parseObject(Buffer.from(data, 'base64url').toString()))
  return { extras: isObject(extras) ? extras : null, details: readList(details).filter(isObject) }
}

/** What Gemini accepts in place of a signature (Gemini API, "Thought signatures"). */
const NO_SIGNATURE = 'skip_thought_signature_validator'

/**
 * Returns the messages with a signature for the first call of each turn, as Gemini requires it (`unsignedCalls`). A
 * message that needs no change is returned as it is.
 */
export function toSignedHistory<Message>(messages: readonly Message[]): Message[] {
  // Cast: a message with a signature is a message of the same kind.
  return messages.map((message) => withSignature(message) as Message)
}

function withSignature(message: unknown): unknown {
  const [first, ...others] = readList(readObject(message).tool_calls)
  if (!isObject(message) || !isObject(first)) return message
  const extras = readObject(first.extra_content)
  const google = readObject(extras.google)
  if (readName(google.thought_signature) !== null) return message
  const extra_content = { ...extras, google: { ...google, thought_signature: NO_SIGNATURE } }
  return { ...message, tool_calls: [{ ...first, extra_content }, ...others] }
}
