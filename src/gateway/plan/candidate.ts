/** Where the model of a call is: by the list of backends in the directory, or by the route of the call. */
import { hasBackendList, serveEntriesOf } from '../../directory/serve-entries.ts'
import type { PlacedModel } from '../../directory/serve-entries.ts'
import { WORKER_NAME } from '../../kernel/backend-name.ts'
import type { UpstreamName } from '../../kernel/backend-name.ts'
import type { BackendKind } from '../backends/table.ts'
import type { ModelCaps } from '../dialects/caps.ts'
import type { Dialect } from '../dialects/dialect.ts'

/** A backend that has a model, and the model's name there. */
export type Placement = {
  readonly backend: string
  readonly model: string
  /** What the directory says that the model can be asked there. */
  readonly caps: Partial<ModelCaps>
  /** Used only while no earlier backend of the plan can be reached. */
  readonly isOfflineOnly: boolean
  /** Its position in the order of preference. Backends of equal rank are neighbours, over which sessions are spread. */
  readonly rank: number
  /** The share of the sessions that it gets among its neighbours. */
  readonly weight: number
}

/** A placement, with what is known of the backend now. */
export type Candidate = Placement & {
  readonly kind: BackendKind
  /** The dialects in which the backend takes this call, the preferred one first. */
  readonly dialects: readonly Dialect[]
  readonly isReady: boolean
  /** False after a failure to connect. */
  readonly isReachable: boolean
  /** It has failed repeatedly, so the others are asked first. */
  readonly isTripped: boolean
}

/** What decides where a model without a list of backends is. */
type Route = {
  /** Whether a worker is configured. */
  readonly hasWorker: boolean
  /** That of the call's route group. */
  readonly upstream: UpstreamName
}

/** The backends that have a model for a call, in the order of preference. Not all of them may be configured. */
export function listPlacements(model: PlacedModel, { hasWorker, upstream }: Route): readonly Placement[] {
  // Where no worker is configured, the upstream serves its models too.
  const entries = serveEntriesOf(hasWorker ? model : { ...model, backendModel: null })
  const ofRoute: readonly string[] = [WORKER_NAME, upstream]
  const own = hasBackendList(model) ? entries : entries.filter(({ backend }) => ofRoute.includes(backend))
  return own.map(({ when, caps = model.caps, ...entry }) => ({ ...entry, caps, isOfflineOnly: when === 'offline' }))
}
