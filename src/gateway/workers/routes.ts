import { ApiError } from '../../http/errors.ts'
import type { Handlers } from '../../http/operation.ts'
import { callerOf } from '../../http/request.ts'
import type { Caller } from '../../kernel/caller.ts'
import { visibleModels } from '../models/rules.ts'
import type { TeamOf } from '../models/rules.ts'
import type { Engine } from './engine.ts'
import { toWorker, WORKER_ID } from './rules.ts'

type Needs = {
  readonly teamOf: TeamOf
  readonly engine: Engine
}

/** The local worker as a team sees it: with the models of that team. */
export function workerRoutes({ teamOf, engine }: Needs): Handlers<'listWorkers' | 'getWorker'> {
  const workerFor = async (req: { caller?: Caller }) => {
    const [team, probe] = await Promise.all([teamOf(callerOf(req)), engine.look()])
    return toWorker(probe, team ? visibleModels(team) : [])
  }
  return {
    async listWorkers(req, res) {
      res.status(200).json({ workers: [await workerFor(req)] })
    },

    async getWorker(req, res) {
      if (req.params.id !== WORKER_ID) throw new ApiError('not_found', { message: 'There is no such worker.' })
      res.status(200).json(await workerFor(req))
    },
  }
}
