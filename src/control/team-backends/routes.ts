import type { AdminBackendTrust } from '../../directory/admin-backends.ts'
import { ApiError } from '../../http/errors.ts'
import type { Handlers } from '../../http/operation.ts'
import { toChangeError } from '../directory-change.ts'
import type { FindTeamAdmin } from '../team-access.ts'
import { toAddedBackend, toTeamBackends } from './answers.ts'
import type { BackendRefusal, TeamBackendChanges } from './changes.ts'
import type { TeamBackendStore } from './store.ts'

type Needs = {
  readonly backends: TeamBackendStore
  readonly changes: TeamBackendChanges
  /** Null: the operator lets admins add none. */
  readonly trust: AdminBackendTrust | null
  readonly findTeamAdmin: FindTeamAdmin
}

type Operations = 'listTeamBackends' | 'putTeamBackend' | 'deleteTeamBackend'

/** The backends of a team, for its admins. */
export function makeTeamBackendHandlers({ backends, changes, trust, findTeamAdmin }: Needs): Handlers<Operations> {
  return {
    async listTeamBackends(req, res) {
      const { teamId } = await findTeamAdmin(req.params.team, req)
      res.status(200).json(toTeamBackends(await backends.find(teamId), trust))
    },

    async putTeamBackend(req, res) {
      const { team, name } = req.params
      const admin = await findTeamAdmin(team, req)
      const refusal = await changes.put(admin, name, req.body)
      if (refusal) throw toError(refusal)
      const saved = (await backends.findAdded(admin.teamId)).find((backend) => backend.name === name)
      if (!saved) throw toError({ kind: 'not_found' })
      res.status(200).json(toAddedBackend(saved, trust))
    },

    async deleteTeamBackend(req, res) {
      const { team, name } = req.params
      const admin = await findTeamAdmin(team, req)
      const refusal = await changes.remove(admin, name)
      if (refusal) throw toError(refusal)
      res.status(200).json({ ok: true })
    },
  }
}

function toError(refusal: BackendRefusal): ApiError {
  if (refusal === 'reauthenticate') return new ApiError('reauthenticate')
  if (refusal === 'off') return new ApiError('forbidden', { message: OFF })
  return toChangeError(refusal, 'backend')
}

const OFF =
  'The operator of this service lets admins add no backends. For that, the operator sets SVC_ADMIN_BACKEND_HOSTS to ' +
  'the hosts that backends may have.'
