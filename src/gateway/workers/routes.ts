import { ApiError } from '../../http/errors.ts'
import type { Handlers } from '../../http/operation.ts'
import { callerOf } from '../../http/request.ts'
import type { Caller } from '../../kernel/caller.ts'
import { WORKER_NAME } from '../../kernel/backend-name.ts'
import type { Worker } from '../backends/worker.ts'
import { visibleModels } from '../models/rules.ts'
import type { FindTeam } from '../models/rules.ts'
import { toShownWorker } from './rules.ts'

type Needs = {
  readonly findTeam: FindTeam
  /** Null when no worker is configured. */
  readonly worker: Worker | null
}

/** The handlers of the worker routes. A team sees the local worker with the models of that team. */
export function makeWorkerHandlers({ findTeam, worker }: Needs): Handlers<'listWorkers' | 'getWorker'> {
  const workerFor = async (req: { caller?: Caller }) => {
    const [team, found] = await Promise.all([findTeam(callerOf(req)), worker?.checkModels() ?? null])
    return toShownWorker(found, team ? visibleModels(team) : [])
  }
  return {
    async listWorkers(req, res) {
      res.status(200).json({ workers: [await workerFor(req)] })
    },

    async getWorker(req, res) {
      if (req.params.id !== WORKER_NAME) {
        throw new ApiError('not_found', { message: `There is no such worker. The only one is ${WORKER_NAME}.` })
      }
      res.status(200).json(await workerFor(req))
    },
  }
}
