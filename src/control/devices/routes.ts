import { clearCookies } from '../../http/cookies.ts'
import { ApiError } from '../../http/errors.ts'
import type { Handlers } from '../../http/operation.ts'
import { actorOf, callerOf } from '../../http/request.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { SignOut } from '../tokens/sign-out.ts'
import type { DeviceChanges } from './changes.ts'
import type { DeviceStore, ListedDevice } from './store.ts'

type Needs = {
  readonly devices: DeviceStore
  readonly changes: DeviceChanges
  readonly signOut: SignOut
  readonly clock: Clock
}

/** The operations that list the caller's devices and sign them out. */
export function makeDevicesHandlers(needs: Needs): Handlers<'listDevices' | 'revokeDevice' | 'logoutEverywhere'> {
  const { devices, changes, signOut, clock } = needs
  return {
    async listDevices(req, res) {
      const listed = await devices.list(callerOf(req).accountId, clock.now())
      const current = await signOut.findCurrent(req)
      res.status(200).json({ devices: listed.map((device) => toOwnDevice(device, current)) })
    },

    async revokeDevice(req, res) {
      const hasEnded = await changes.signOut(actorOf(req), req.params.id)
      if (!hasEnded) throw new ApiError('not_found', { message: 'You have no signed-in device with this id.' })
      res.status(200).json({ ok: true })
    },

    async logoutEverywhere(req, res) {
      const scope = req.body?.scope ?? 'all'
      const request = { scope, unknownDevice: req.body?.unknownDevice }
      const ended = await changes.signOutEverywhere(req, request)
      if (ended === 'reauthenticate') throw new ApiError('reauthenticate')
      if (ended === 'not_found')
        throw new ApiError('not_found', { message: 'Your account has no device with this id.' })
      if (scope === 'all') clearCookies(res)
      res.status(200).json({ ok: true, ...ended })
    },
  }
}

function toOwnDevice(device: ListedDevice, current: readonly string[]) {
  return {
    kind: device.kind,
    id: device.sessionId,
    deviceId: device.deviceId,
    deviceName: device.deviceName,
    team: device.team,
    firstSeenAt: device.firstSeenAt.toISOString(),
    lastSeenAt: device.lastSeenAt.toISOString(),
    lastIp: device.lastIp,
    approvedBy: { via: device.approvedVia, deviceName: device.approverName },
    current: current.includes(device.sessionId),
  }
}
