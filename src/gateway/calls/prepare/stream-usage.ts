import type { SnapshotModel } from '../../../directory/snapshot.ts'
import { DEFAULT_CAPS } from '../../dialects/caps.ts'
import { DIALECTS } from '../../dialects/dialects.ts'
import type { Json } from '../../dialects/json/read-json.ts'
import type { MakeStreamFilter } from '../../exchange/relay.ts'
import type { Operation } from '../operations.ts'

/** The request for the usage of a stream. */
type UsageRequest = {
  /** Members of the request with new values. */
  readonly changes: Json
  /** Removes the event of the answer that the caller did not ask for. */
  readonly makeFilter: MakeStreamFilter
}

/** What makes a stream report its usage; null when it does so already, or the model's backend cannot be asked. */
export function askForUsage(
  { dialect }: Operation,
  { caps }: Pick<SnapshotModel, 'caps'>,
  body: Json,
): UsageRequest | null {
  const { streamUsage } = DIALECTS[dialect]
  const isSupported = caps.streamUsage ?? DEFAULT_CAPS[dialect].streamUsage
  if (!streamUsage || !isSupported || body.stream !== true) return null
  const changes = streamUsage.ask(body)
  return changes && { changes, makeFilter: streamUsage.makeFilter }
}
