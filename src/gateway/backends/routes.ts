import type { BackendState } from '../../../generated/openapi.ts'
import { ApiError } from '../../http/errors.ts'
import type { Handlers } from '../../http/operation.ts'
import { callerOf } from '../../http/request.ts'
import { teamOfBackend } from '../../kernel/backend-name.ts'
import type { Backend } from './backend.ts'
import type { Backends } from './backends.ts'

/**
 * The handler of the list of backends, which shows nothing of their addresses and credentials. The backends that admins
 * have added are shown to the admins of the same team.
 */
export function makeBackendHandlers({ backends }: { readonly backends: Backends }): Handlers<'listBackends'> {
  return {
    async listBackends(req, res) {
      const { role, team } = callerOf(req)
      if (role !== 'admin') {
        throw new ApiError('forbidden', { message: 'Only admins of a team can list the backends.' })
      }
      const workerState = await findWorkerState(backends)
      const shown = backends.list().map((backend) => {
        return toShown(backend, backend === backends.worker ? workerState : stateOf(backend))
      })
      const unusable = backends.listUnusable().map(({ name, dialects }) => {
        return { ...NEVER_CALLED, name, dialects: [...dialects] }
      })
      const visible = [...shown, ...unusable].filter(({ name }) => [null, team].includes(teamOfBackend(name)))
      res.status(200).json({ backends: visible.toSorted((a, b) => (a.name < b.name ? -1 : 1)) })
    },
  }
}

/** The worker is asked, because its state may be older than the last call. */
async function findWorkerState({ worker }: Backends): Promise<BackendState> {
  const found = await worker?.checkModels()
  if (!found) return 'not_configured'
  return found.kind === 'listed' ? 'ready' : found.kind
}

function stateOf({ condition }: Backend): BackendState {
  return condition.isReachable() ? 'ready' : 'unavailable'
}

function toShown({ name, kind, dialects, condition }: Backend, state: BackendState) {
  const { breaker, lastError } = condition.show()
  return {
    name,
    kind,
    dialects: [...dialects.known()],
    state,
    breaker,
    lastError: lastError && { at: lastError.at.toISOString(), result: lastError.result },
  }
}

/** A backend of the directory that cannot be called on this gateway. */
const NEVER_CALLED = {
  kind: 'vendor' as const,
  state: 'not_configured' as const,
  breaker: 'closed' as const,
  lastError: null,
}
