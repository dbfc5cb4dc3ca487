import { ApiError } from '../../http/errors.ts'
import type { Handlers } from '../../http/operation.ts'
import { actorOf, callerOf } from '../../http/request.ts'
import { readCursor, readTimeCursor, writeTimeCursor } from '../paging.ts'
import type { FindAdminTeam } from '../team-access.ts'
import type { TeamDevices } from './changes.ts'

type Needs = { readonly devices: TeamDevices; readonly findAdminTeam: FindAdminTeam }

const DEFAULT_LIMIT = 100

/** The signed-in devices of a team, for its admins. */
export function makeTeamDeviceHandlers({
  devices,
  findAdminTeam,
}: Needs): Handlers<'listTeamDevices' | 'revokeTeamDevice'> {
  return {
    async listTeamDevices(req, res) {
      const { limit = DEFAULT_LIMIT, before } = req.query
      const teamId = await findAdminTeam(req.params.team, callerOf(req))
      const { shown, last } = await devices.listPage(teamId, readCursor('before', before, readTimeCursor), limit)
      res.status(200).json({
        devices: shown.map(({ firstSeenAt, lastSeenAt, ...device }) => ({
          ...device,
          firstSeenAt: firstSeenAt.toISOString(),
          lastSeenAt: lastSeenAt.toISOString(),
        })),
        next: last && writeTimeCursor({ at: last.lastSeenAt, id: last.id }),
      })
    },

    async revokeTeamDevice(req, res) {
      const admin = actorOf(req)
      const teamId = await findAdminTeam(req.params.team, admin)
      if (!(await devices.signOut(req.params.id, teamId, admin)))
        throw new ApiError('not_found', { message: 'The team has no signed-in device with this id.' })
      res.status(200).json({ ok: true })
    },
  }
}
