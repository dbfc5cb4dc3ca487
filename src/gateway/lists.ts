import type { Backends } from './backends/backends.ts'
import { makeBackendHandlers } from './backends/routes.ts'
import { makeModelHandlers } from './models/routes.ts'
import type { FindTeam } from './models/rules.ts'
import type { SpendingLedger } from './spending/ledger.ts'
import { makeLimitHandlers } from './spending/routes.ts'
import { makeWorkerHandlers } from './workers/routes.ts'

type Needs = {
  readonly findTeam: FindTeam
  readonly backends: Backends
  readonly spending: SpendingLedger
}

/** The handlers of what callers ask of a gateway besides calls: models, backends, workers and their own limits. */
export function makeListHandlers({ findTeam, backends, spending }: Needs) {
  return {
    ...makeModelHandlers({ findTeam }),
    ...makeBackendHandlers({ backends }),
    ...makeWorkerHandlers({ findTeam, worker: backends.worker }),
    ...makeLimitHandlers({ spending }),
  }
}
