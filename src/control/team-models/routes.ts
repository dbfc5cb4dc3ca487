import { readAdminModel } from '../../directory/admin-models.ts'
import type { Handlers } from '../../http/operation.ts'
import { actorOf, callerOf } from '../../http/request.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Logger } from '../../log.ts'
import { toChangeError } from '../directory-change.ts'
import type { FindAdminTeam } from '../team-access.ts'
import { toTeamModels } from './answers.ts'
import type { TeamModelStore } from './store.ts'

type Needs = {
  readonly models: TeamModelStore
  readonly findAdminTeam: FindAdminTeam
  readonly clock: Clock
  readonly log: Logger
}

type Operations = 'listTeamModels' | 'putTeamModel' | 'deleteTeamModel' | 'changeTeam'

/** The models of a team, for its admins. */
export function makeTeamModelHandlers({ models, findAdminTeam, clock, log }: Needs): Handlers<Operations> {
  return {
    async listTeamModels(req, res) {
      const teamId = await findAdminTeam(req.params.team, callerOf(req))
      res.status(200).json(toTeamModels(await models.find(teamId)))
    },

    async putTeamModel(req, res) {
      const admin = actorOf(req)
      const { team, id } = req.params
      const teamId = await findAdminTeam(team, admin)
      const { version, ...given } = req.body
      const read = readAdminModel(given)
      if ('mistakes' in read) throw toChangeError(read, 'model')
      const wanted = { ...read.settings, version }
      const refusal = await models.put({ id: teamId, name: team }, id, wanted, admin, clock.now())
      if (refusal) throw toChangeError(refusal, 'model')
      log.info({ teamId, model: id, by: admin.accountId }, 'team_model.saved')
      const saved = toTeamModels(await models.find(teamId)).models.find((model) => model.id === id)
      if (!saved) throw toChangeError({ kind: 'not_found' }, 'model')
      res.status(200).json(saved)
    },

    async deleteTeamModel(req, res) {
      const admin = actorOf(req)
      const { team, id } = req.params
      const teamId = await findAdminTeam(team, admin)
      const refusal = await models.remove(teamId, id, admin, clock.now())
      if (refusal) throw toChangeError(refusal, 'model')
      log.info({ teamId, model: id, by: admin.accountId }, 'team_model.deleted')
      res.status(200).json({ ok: true })
    },

    async changeTeam(req, res) {
      const admin = actorOf(req)
      const teamId = await findAdminTeam(req.params.team, admin)
      const { defaultModel } = req.body
      const refusal = await models.setDefault(teamId, defaultModel, admin, clock.now())
      if (refusal) throw toChangeError(refusal, 'model')
      log.info({ teamId, model: defaultModel, by: admin.accountId }, 'team.default_model_changed')
      res.status(200).json({ ok: true })
    },
  }
}
