import { readAdminModel } from '../../directory/admin-models.ts'
import type { Handlers } from '../../http/operation.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Logger } from '../../log.ts'
import { toChangeError } from '../directory-change.ts'
import type { FindTeamAdmin } from '../team-access.ts'
import { toTeamModels } from './answers.ts'
import type { TeamModelStore } from './store.ts'

type Needs = {
  readonly models: TeamModelStore
  readonly findTeamAdmin: FindTeamAdmin
  readonly clock: Clock
  readonly log: Logger
}

type Operations = 'listTeamModels' | 'putTeamModel' | 'deleteTeamModel' | 'changeTeam'

/** The models of a team, for its admins. */
export function makeTeamModelHandlers({ models, findTeamAdmin, clock, log }: Needs): Handlers<Operations> {
  return {
    async listTeamModels(req, res) {
      const { teamId } = await findTeamAdmin(req.params.team, req)
      res.status(200).json(toTeamModels(await models.find(teamId)))
    },

    async putTeamModel(req, res) {
      const { team, id } = req.params
      const admin = await findTeamAdmin(team, req)
      const { version, ...given } = req.body
      const read = readAdminModel(given)
      if ('mistakes' in read) throw toChangeError(read, 'model')
      const wanted = { ...read.settings, version }
      const refusal = await models.put(admin, id, wanted, clock.now())
      if (refusal) throw toChangeError(refusal, 'model')
      const { teamId, accountId: by } = admin
      log.info({ teamId, model: id, by }, 'team_model.saved')
      const saved = toTeamModels(await models.find(teamId)).models.find((model) => model.id === id)
      if (!saved) throw toChangeError({ kind: 'not_found' }, 'model')
      res.status(200).json(saved)
    },

    async deleteTeamModel(req, res) {
      const { team, id } = req.params
      const admin = await findTeamAdmin(team, req)
      const refusal = await models.remove(admin, id, clock.now())
      if (refusal) throw toChangeError(refusal, 'model')
      log.info({ teamId: admin.teamId, model: id, by: admin.accountId }, 'team_model.deleted')
      res.status(200).json({ ok: true })
    },

    async changeTeam(req, res) {
      const admin = await findTeamAdmin(req.params.team, req)
      const { defaultModel } = req.body
      const refusal = await models.setDefault(admin, defaultModel, clock.now())
      if (refusal) throw toChangeError(refusal, 'model')
      log.info({ teamId: admin.teamId, model: defaultModel, by: admin.accountId }, 'team.default_model_changed')
      res.status(200).json({ ok: true })
    },
  }
}
