import { ApiError } from '../../http/errors.ts'
import type { Handlers } from '../../http/operation.ts'
import { readCursor, readTimeCursor, writeTimeCursor } from '../paging.ts'
import type { FindTeamAdmin } from '../team-access.ts'
import type { TeamDevices } from './changes.ts'

type Needs = { readonly devices: TeamDevices; readonly findTeamAdmin: FindTeamAdmin }

const DEFAULT_LIMIT = 100

/** The signed-in devices of a team, for its admins. */
export function makeTeamDeviceHandlers({
  devices,
  findTeamAdmin,
}: Needs): Handlers<'listTeamDevices' | 'revokeTeamDevice'> {
  return {
    async listTeamDevices(req, res) {
      const { limit = DEFAULT_LIMIT, before } = req.query
      const { teamId } = await findTeamAdmin(req.params.team, req)
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
      const admin = await findTeamAdmin(req.params.team, req)
      if (!(await devices.signOut(admin, req.params.id)))
        throw new ApiError('not_found', { message: 'The team has no signed-in device with this id.' })
      res.status(200).json({ ok: true })
    },
  }
}
