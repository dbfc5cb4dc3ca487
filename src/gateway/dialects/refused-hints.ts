import type { ModelCaps } from './caps.ts'
import { removeMembers } from './json/edit-json.ts'
import type { Json } from './json/read-json.ts'

/** The members of the dialects that ask for an effort, and for the usage of a stream. */
type HintNames = { readonly effort: string; readonly usage?: string }

/**
 * Removes the hints that a model refuses by its `caps` from a request of a client of its own dialect: an effort where
 * there is no choice of one (`efforts`), the name of the user (`userHint`), and the request for the usage of a stream
 * (`streamUsage`). Returns the same bytes where there are none.
 */
export function withoutRefusedHints(
  request: Buffer,
  body: Json,
  { efforts, userHint, streamUsage }: Partial<ModelCaps>,
  { effort, usage }: HintNames,
): Buffer {
  const refused = [
    ...(efforts?.length === 0 ? [effort] : []),
    ...(userHint === false ? ['user', 'safety_identifier'] : []),
    ...(streamUsage === false && usage !== undefined ? [usage] : []),
  ].filter((name) => name in body)
  return refused.length > 0 ? removeMembers(request, refused) : request
}
