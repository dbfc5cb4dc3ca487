/** Where the model of a call is: by the list of backends in the directory, or by the route of the call. */
import { hasBackendList, serveEntriesOf } from '../../directory/serve-entries.ts'
import type { PlacedModel } from '../../directory/serve-entries.ts'
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

type Configured = {
  /** Null: not configured. */
  readonly worker: string | null
  /** Of the call's route group; null: not configured. */
  readonly upstream: string | null
}

/** The backends that have a model for a call, in the order of preference. Not all of a list may be configured. */
export function listPlacements(model: PlacedModel, { worker, upstream }: Configured): readonly Placement[] {
  // Where no worker is configured, the upstream serves its models too.
  const entries = serveEntriesOf(worker === null ? { ...model, backendModel: null } : model)
  const own = hasBackendList(model) ? entries : entries.filter(({ backend }) => [worker, upstream].includes(backend))
  return own.map(({ when, caps = model.caps, ...entry }) => ({ ...entry, caps, isOfflineOnly: when === 'offline' }))
}
