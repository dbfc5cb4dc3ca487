import { ApiError } from '../../http/errors.ts'
import type { Handlers } from '../../http/operation.ts'
import { callerOf } from '../../http/request.ts'
import type { Caller } from '../../kernel/caller.ts'
import { toCodexModelList, toListedModel, toMessagesModel, toMessagesModelList, toModelList } from './formats.ts'
import { findEntry, listEntries, toRefusedParty } from './rules.ts'
import type { FindTeam, ModelEntry } from './rules.ts'

type Operations = 'listModels' | 'getModel' | 'listCodexModels' | 'listMessagesModels' | 'getMessagesModel'

/** The models of the caller's team, in the format of each kind of client. */
export function makeModelHandlers({ findTeam }: { readonly findTeam: FindTeam }): Handlers<Operations> {
  const visibleTo = async (req: { caller?: Caller }) => {
    const team = await findTeam(callerOf(req))
    return team ? listEntries(team) : []
  }
  const findVisible = async (req: { caller?: Caller }, name: string): Promise<ModelEntry> => {
    const caller = callerOf(req)
    const team = await findTeam(caller)
    const entry = team && findEntry(team, name)
    if (entry) return entry
    const message = `${toRefusedParty(caller)} has no such model. GET /v1/models lists its models.`
    throw new ApiError('not_found', { message })
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
