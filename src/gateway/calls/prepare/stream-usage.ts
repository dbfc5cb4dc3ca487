import { DEFAULT_CAPS } from '../../dialects/caps.ts'
import { DIALECTS } from '../../dialects/dialects.ts'
import type { Json } from '../../dialects/json/read-json.ts'
import type { MakeStreamFilter } from '../../exchange/relay.ts'
import type { CallStep } from './prepared-call.ts'

/** The request for the usage of a stream. */
type UsageRequest = {
  /** Members of the request with new values. */
  readonly changes: Json
  /** Removes the event of the answer that the caller did not ask for. */
  readonly makeFilter: MakeStreamFilter
}

/** What makes a stream report its usage; null when it does so already, or the model's backend cannot be asked. */
export function askForUsage({ admission }: CallStep, body: Json): UsageRequest | null {
  const { operation, model, wantsStream } = admission
  const { streamUsage } = DIALECTS[operation.dialect]
  const isSupported = model.caps.streamUsage ?? DEFAULT_CAPS[operation.dialect].streamUsage
  if (!streamUsage || !isSupported || !wantsStream) return null
  const changes = streamUsage.ask(body)
  return changes && { changes, makeFilter: streamUsage.makeFilter }
}
