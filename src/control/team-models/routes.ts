import type { Handlers } from '../../http/operation.ts'
import { toChangeError } from '../directory-change.ts'
import type { FindTeamAdmin } from '../team-access.ts'
import { toTeamModels } from './answers.ts'
import type { TeamModelChanges } from './changes.ts'
import type { TeamModelStore } from './store.ts'

type Needs = {
  readonly models: TeamModelStore
  readonly changes: TeamModelChanges
  readonly findTeamAdmin: FindTeamAdmin
}

type Operations = 'listTeamModels' | 'putTeamModel' | 'deleteTeamModel' | 'changeTeam'

/** The models of a team, for its admins. */
export function makeTeamModelHandlers({ models, changes, findTeamAdmin }: Needs): Handlers<Operations> {
  return {
    async listTeamModels(req, res) {
      const { teamId } = await findTeamAdmin(req.params.team, req)
      res.status(200).json(toTeamModels(await models.find(teamId)))
    },

    async putTeamModel(req, res) {
      const { team, id } = req.params
      const admin = await findTeamAdmin(team, req)
      const refusal = await changes.put(admin, id, req.body)
      if (refusal) throw toChangeError(refusal, 'model')
      const saved = toTeamModels(await models.find(admin.teamId)).models.find((model) => model.id === id)
      if (!saved) throw toChangeError({ kind: 'not_found' }, 'model')
      res.status(200).json(saved)
    },

    async deleteTeamModel(req, res) {
      const { team, id } = req.params
      const admin = await findTeamAdmin(team, req)
      const refusal = await changes.remove(admin, id)
      if (refusal) throw toChangeError(refusal, 'model')
      res.status(200).json({ ok: true })
    },

    async changeTeam(req, res) {
      const admin = await findTeamAdmin(req.params.team, req)
      const refusal = await changes.setDefault(admin, req.body.defaultModel)
      if (refusal) throw toChangeError(refusal, 'model')
      res.status(200).json({ ok: true })
    },
  }
}
