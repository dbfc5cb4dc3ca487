import { isObject } from '../../../kernel/json.ts'
import { readList, readObject } from '../json/read-json.ts'
import type { Json } from '../json/read-json.ts'
import { rewriteItems } from '../json/rewrite-list.ts'
import { isSealed } from '../seals.ts'

/** Removes the seals of this service, which are in members of a message beside its content. */
export function withoutUnsignedContent(request: Buffer, body: Json): Buffer {
  return rewriteItems(request, body, 'messages', removeSeals)
}

/** The message without its seals and the reasoning that they are for; null when it has none. */
function removeSeals(message: unknown): readonly unknown[] | null {
  if (!isObject(message)) return null
  const [details, calls] = [readList(message.reasoning_details), readList(message.tool_calls)]
  if (!details.some(isSealedDetail) && !calls.some(isSealedCall)) return null
  const { reasoning_details: _, reasoning_content: __, ...rest } = message
  const kept = details.filter((detail) => !isSealedDetail(detail))
  return [
    {
      ...rest,
      ...(kept.length > 0 && { reasoning_details: kept }),
      ...(calls.length > 0 && { tool_calls: calls.map(withoutSeal) }),
    } satisfies Json,
  ]
}

function isSealedDetail(detail: unknown): boolean {
  return isSealed(readObject(detail).data)
}

function isSealedCall(call: unknown): boolean {
  return isSealed(readObject(readObject(readObject(call).extra_content).google).thought_signature)
}

function withoutSeal(call: unknown): unknown {
  if (!isObject(call) || !isSealedCall(call)) return call
  const { extra_content: _, ...rest } = call
  return rest
}
