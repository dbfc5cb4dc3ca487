import type { SnapshotModel } from '../../directory/snapshot.ts'
import { ApiError } from '../../http/errors.ts'
import type { Handlers } from '../../http/operation.ts'
import { callerOf } from '../../http/request.ts'
import type { Caller } from '../../kernel/caller.ts'
import {
  toCodexModelList,
  toListedModel,
  toMessagesModel,
  toMessagesModelList,
  toModelList,
  visibleModels,
} from './rules.ts'
import type { FindTeam } from './rules.ts'

type Needs = {
  readonly findTeam: FindTeam
}

type Operations = 'listModels' | 'getModel' | 'listCodexModels' | 'listMessagesModels' | 'getMessagesModel'

/** The models of the caller's team, in the format of each kind of client. */
export function modelHandlers({ findTeam }: Needs): Handlers<Operations> {
  const visibleTo = async (req: { caller?: Caller }) => {
    const team = await findTeam(callerOf(req))
    return team ? visibleModels(team) : []
  }
  const findVisible = async (req: { caller?: Caller }, id: string): Promise<SnapshotModel> => {
    const model = (await visibleTo(req)).find((candidate) => candidate.id === id)
    if (!model)
      throw new ApiError('not_found', { message: 'Your team has no such model. GET /v1/models lists its models.' })
    return model
  }
  return {
    async listModels(req, res) {
      res.status(200).json(toModelList(await visibleTo(req)))
    },

    async getModel(req, res) {
      res.status(200).json(toListedModel(await findVisible(req, req.params.id)))
    },

    async listCodexModels(req, res) {
      res.status(200).json(toCodexModelList(await visibleTo(req)))
    },

    async listMessagesModels(req, res) {
      res.status(200).json(toMessagesModelList(await visibleTo(req)))
    },

    async getMessagesModel(req, res) {
      res.status(200).json(toMessagesModel(await findVisible(req, req.params.id)))
    },
  }
}
