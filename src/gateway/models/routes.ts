import type { Handlers } from '../../http/operation.ts'
import { callerOf } from '../../http/request.ts'
import type { Caller } from '../../kernel/caller.ts'
import { toCodexModelList, toMessagesModelList, toModelList, visibleModels } from './rules.ts'
import type { FindTeam } from './rules.ts'

type Needs = {
  readonly findTeam: FindTeam
}

/** The handlers of the model lists: one list for each kind of client. */
export function modelHandlers({ findTeam }: Needs): Handlers<'listModels' | 'listCodexModels' | 'listMessagesModels'> {
  const visibleTo = async (req: { caller?: Caller }) => {
    const team = await findTeam(callerOf(req))
    return team ? visibleModels(team) : []
  }
  return {
    async listModels(req, res) {
      res.status(200).json(toModelList(await visibleTo(req)))
    },

    async listCodexModels(req, res) {
      res.status(200).json(toCodexModelList(await visibleTo(req)))
    },

    async listMessagesModels(req, res) {
      res.status(200).json(toMessagesModelList(await visibleTo(req)))
    },
  }
}
