import type { Request } from 'express'
import type { Html } from '../../http/page.ts'
import { callerOf, ipOf } from '../../http/request.ts'
import type { Clock } from '../../kernel/clock.ts'
import { showUserCode } from '../../kernel/user-code.ts'
import type { FoundLogin } from '../device-login/store.ts'
import type { DeviceStore } from '../devices/store.ts'
import type { DeviceNotice } from '../pages/device-notices.ts'
import { devicePage } from '../pages/device-page.ts'
import type { PasskeyStore } from '../passkeys/store.ts'
import type { SignOut } from '../tokens/sign-out.ts'

/** What the page says and shows besides the lists. */
export type Shown = {
  readonly notice?: DeviceNotice
  /** Filled in, not looked up. */
  readonly userCode?: string | undefined
  readonly found?: FoundLogin
}

/** The device page of the caller. */
export type DrawDevicePage = (req: Request, shown: Shown) => Promise<Html>

type Needs = {
  readonly devices: DeviceStore
  readonly passkeys: PasskeyStore
  readonly signOut: SignOut
  /** The domain that passkeys are for. */
  readonly rpId: string
  readonly clock: Clock
}

export function deviceDrawer({ devices, passkeys, signOut, rpId, clock }: Needs): DrawDevicePage {
  return async (req, { notice, userCode, found }) => {
    const { accountId, team, role } = callerOf(req)
    const listed = await devices.list(accountId, clock.now())
    const own = await passkeys.list(accountId)
    const { email, userHandle, passkeys: credentials } = await passkeys.findRegistrant(accountId)
    const current = await signOut.findCurrent(req)
    return devicePage({
      user: { email, team, role },
      notice: notice ?? null,
      userCode: userCode ?? null,
      found: found ? toPending(found, ipOf(req)) : null,
      devices: listed.map((device) => ({ ...device, current: current.devices.includes(device.sessionId) })),
      passkeys: own.map(({ id, ...passkey }) => ({ ...passkey, passkeyId: id })),
      accepted: {
        rpId,
        userId: Buffer.from(userHandle).toString('base64url'),
        credentialIds: credentials.map(({ credentialId }) => credentialId),
      },
    })
  }
}

function toPending(login: FoundLogin, ip: string) {
  return {
    deviceName: login.deviceName,
    userCode: showUserCode(login.userCode ?? ''),
    startIp: login.startIp,
    startedAt: login.createdAt,
    expiresAt: login.expiresAt,
    sameIp: login.startIp === ip,
  }
}
