import { ApiError } from '../../http/errors.ts'
import type { Clock } from '../../kernel/clock.ts'
import { hashSecret } from '../../kernel/secret.ts'
import type { Secret } from '../../kernel/secret.ts'
import type { OpenSession } from '../tokens/open.ts'
import type { DeviceSession } from '../tokens/store.ts'
import { judgePoll, POLL_TOLERANCE_MS, waitSeconds } from './rules.ts'
import type { DeviceLoginStore } from './store.ts'

/**
 * The device session of an approved login: made by its first poll, the same one for every later poll. Throws the refusal: what
 * `judgePoll` says, `rate_limited` with how long to wait.
 */
export type PollLogin = (deviceCode: Secret, ip: string) => Promise<DeviceSession>

type Needs = {
  readonly logins: DeviceLoginStore
  readonly openSession: OpenSession
  readonly pollIntervalSeconds: number
  readonly clock: Clock
}

export function loginPoller({ logins, openSession, pollIntervalSeconds, clock }: Needs): PollLogin {
  return async (deviceCode, ip) => {
    const login = await logins.findByDeviceCode(hashSecret(deviceCode))
    if (!login) throw new ApiError('unauthorized', { message: 'There is no login with this device code.' })

    const now = clock.now()
    const verdict = judgePoll(login, pollIntervalSeconds, now)
    const tooSoon = () =>
      new ApiError('rate_limited', { retryAfterSeconds: waitSeconds(login, pollIntervalSeconds, now) })
    if (verdict === 'rate_limited') throw tooSoon()
    if (verdict === 'authorization_pending') {
      const noted = await logins.notePoll(login.id, now, pollIntervalSeconds * 1000 - POLL_TOLERANCE_MS)
      if (!noted) throw tooSoon()
    }
    if (verdict !== 'granted') throw new ApiError(verdict)
    if (login.invitationId === null || login.approvedVia === null)
      throw new Error('An approved login belongs to nobody.')

    const { id: loginId, invitationId, accountId, deviceId, deviceName, approvedVia } = login
    const session = await openSession({ loginId, invitationId, accountId, deviceId, deviceName, approvedVia }, ip, now)
    // Between reading the login and this the device may have refreshed or been signed out.
    if (session.revoked || session.generation > 0) throw new ApiError('unauthorized')
    return session
  }
}
