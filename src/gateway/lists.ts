import type { Backends } from './backends/backends.ts'
import { backendHandlers } from './backends/routes.ts'
import { modelHandlers } from './models/routes.ts'
import type { FindTeam } from './models/rules.ts'
import type { SpendingLedger } from './spending/ledger.ts'
import { limitHandlers } from './spending/routes.ts'
import { workerHandlers } from './workers/routes.ts'

type Needs = {
  readonly findTeam: FindTeam
  readonly backends: Backends
  readonly spending: SpendingLedger
}

/** The handlers of what callers ask of a gateway besides calls: models, backends, workers and their own limits. */
export function makeListHandlers({ findTeam, backends, spending }: Needs) {
  return {
    ...modelHandlers({ findTeam }),
    ...backendHandlers({ backends }),
    ...workerHandlers({ findTeam, worker: backends.worker }),
    ...limitHandlers({ spending }),
  }
}
