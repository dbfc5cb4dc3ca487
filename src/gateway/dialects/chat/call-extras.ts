/**
 * What a vendor adds to a tool call and wants back with it: Gemini's `extra_content`, with the signature of the thought
 * before the call. Gemini answers 400 to a call without it. Other dialects have no place for it in a call, so it
 * travels in the seal of the reasoning before the call.
 */
import { isObject } from '../../../kernel/json.ts'
import { parseObject } from '../json/read-json.ts'
import type { Json } from '../json/read-json.ts'
import type { AnswerSeal, Seal } from '../neutral.ts'

/** Reads the additions of a call; null: there are none. */
export function readExtras({ extra_content: extras }: Json): Json | null {
  return isObject(extras) && Object.keys(extras).length > 0 ? extras : null
}

export function sealExtras(extras: Json): AnswerSeal {
  return { kind: 'signed', data: Buffer.from(JSON.stringify(extras)).toString('base64url'), before: null }
}

/** The additions in a seal of a chat backend; null: there are none. */
export function unsealExtras({ kind, data }: Seal): Json | null {
  return kind === 'signed' ? parseObject(Buffer.from(data, 'base64url').toString()) : null
}
