import { ApiError } from '../../http/errors.ts'
import type { Clock } from '../../kernel/clock.ts'
import { hashSecret } from '../../kernel/secret.ts'
import type { Secret } from '../../kernel/secret.ts'
import type { OnUnknownCredential } from '../edge/unknown-credentials.ts'
import { ANOTHER_CLIENT, isClientOf } from '../tokens/rules.ts'
import type { OpenSession } from '../tokens/open.ts'
import type { DeviceSession } from '../tokens/rows.ts'
import { judgePoll, POLL_TOLERANCE_MS, waitSeconds } from './rules.ts'
import type { DeviceLoginStore } from './store.ts'

/** The client that polls; `clientId` is null when it does not name itself. A browser has its tokens in cookies. */
export type PollingClient = { readonly ip: string; readonly clientId: string | null; readonly isBrowser: boolean }

/**
 * Polls a login and returns its device session. The first poll of an approved login makes the session, every later poll
 * returns the same one. Throws what `judgePoll` refuses with; `rate_limited` says how long to wait.
 */
export type PollLogin = (deviceCode: Secret, client: PollingClient) => Promise<DeviceSession>

type Needs = {
  readonly logins: DeviceLoginStore
  readonly openSession: OpenSession
  readonly pollIntervalSeconds: number
  readonly onUnknownCredential: OnUnknownCredential
  readonly clock: Clock
}

const SPENT = { message: 'This device code was already used, or its device was signed out. Start the login again.' }

/** Makes the function that device logins and the OAuth token endpoint share. */
export function makePollLogin(needs: Needs): PollLogin {
  const { logins, openSession, pollIntervalSeconds, onUnknownCredential, clock } = needs
  return async (deviceCode, { ip, clientId, isBrowser }) => {
    const login = await logins.findByDeviceCode(hashSecret(deviceCode))
    if (!login) {
      onUnknownCredential(ip)
      throw new ApiError('unauthorized', { message: 'This device code is not known. Start the login again.' })
    }
    if (!isClientOf(login, clientId)) throw new ApiError('unauthorized', { message: ANOTHER_CLIENT })

    const now = clock.now()
    const verdict = judgePoll(login, pollIntervalSeconds, now)
    const tooSoonAfter = (poll: Date) =>
      new ApiError('rate_limited', { retryAfterSeconds: waitSeconds(poll, pollIntervalSeconds, now) })
    if (verdict === 'rate_limited') throw tooSoonAfter(login.lastPolledAt ?? now)
    if (verdict === 'authorization_pending') {
      const saved = await logins.savePoll(login.id, now, pollIntervalSeconds * 1000 - POLL_TOLERANCE_MS)
      // Another poll was faster.
      if (!saved) throw tooSoonAfter(now)
    }
    if (verdict === 'unauthorized') throw new ApiError('unauthorized', SPENT)
    if (verdict !== 'granted') throw new ApiError(verdict)
    if (login.invitationId === null || login.approvedVia === null) throw new Error('An approved login has no account.')

    const { id: loginId, invitationId, approvedVia } = login
    const device = { deviceId: login.deviceId, deviceName: login.deviceName, clientId: login.clientId, isBrowser }
    const session = await openSession({ loginId, passkeyId: null, invitationId, approvedVia, ...device }, ip, now)
    // The device may have refreshed or been signed out since the login was read.
    if (session.revoked || session.generation > 0) throw new ApiError('unauthorized', SPENT)
    return session
  }
}
