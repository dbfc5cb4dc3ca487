import type { ModelCaps } from '../caps.ts'
import { removeMembers } from '../json/edit-json.ts'
import type { Json } from '../json/read-json.ts'

/**
 * Removes what the model would refuse in a request of a client of this dialect: `reasoning` where there is no choice of
 * an effort (`efforts`), and the name of the user (`userHint`). Returns the same bytes where nothing would be refused.
 */
export function toAcceptedRequest(request: Buffer, body: Json, { efforts, userHint }: Partial<ModelCaps>): Buffer {
  const refused = [
    ...(efforts?.length === 0 ? ['reasoning'] : []),
    ...(userHint === false ? ['user', 'safety_identifier'] : []),
  ].filter((name) => name in body)
  return refused.length > 0 ? removeMembers(request, refused) : request
}
