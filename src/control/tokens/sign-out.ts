import { bearerOf } from '../../http/authenticate.ts'
import { cookieOf } from '../../http/cookies.ts'
import type { RequestHead } from '../../http/request.ts'
import { ipOf } from '../../http/request.ts'
import type { FindPublicKey } from '../../access/access-token.ts'
import { verifyIgnoringExpiry } from '../../access/access-token.ts'
import type { OnCallerEnd } from '../../kernel/caller.ts'
import type { Clock } from '../../kernel/clock.ts'
import { hashSecret, Secret } from '../../kernel/secret.ts'
import type { BrowserSessionStore } from '../browser-session/store.ts'
import type { OnUnknownCredential } from '../edge/unknown-credentials.ts'
import type { FindPresentedToken } from './refresh.ts'
import type { DeviceSessionStore } from './store.ts'

type Needs = {
  readonly sessions: DeviceSessionStore
  readonly browserSessions: BrowserSessionStore
  readonly findPresentedToken: FindPresentedToken
  readonly findPublicKey: FindPublicKey
  readonly issuer: string
  readonly onCallerEnd: OnCallerEnd
  readonly onUnknownCredential: OnUnknownCredential
  readonly clock: Clock
}

export type SignOut = {
  /**
   * Finds the ids of the device and browser sessions that the request carries credentials of. An expired access token
   * still names its session.
   */
  findCurrent(req: RequestHead): Promise<string[]>
  /** Ends them. Unknown credentials leave nothing to end, so this never refuses. */
  here(req: RequestHead): Promise<void>
  /** Ends the session of an access token or a refresh token. A token that is not genuine leaves nothing to end. */
  byToken(token: Secret, ip: string): Promise<void>
}

/** Makes the functions that every way to sign out uses. */
export function makeSignOut(needs: Needs): SignOut {
  const { sessions, browserSessions, findPresentedToken, findPublicKey, issuer } = needs
  const { onCallerEnd, onUnknownCredential, clock } = needs

  const findByAccess = async (token: Secret) =>
    (await verifyIgnoringExpiry(token, issuer, findPublicKey))?.claims.sessionId
  const findByRefresh = async (token: Secret, ip: string) => (await findPresentedToken(token, ip))?.session.id

  async function endDevice(sessionId: string, ip: string): Promise<void> {
    await sessions.revoke(sessionId, 'logout', clock.now(), ip)
    onCallerEnd(sessionId)
  }

  async function findByCredentials(req: RequestHead) {
    const access = bearerOf(req) ?? cookieOf(req, 'svc_access')
    const ofAccess = access ? await findByAccess(new Secret(access)) : undefined
    const refresh = cookieOf(req, 'svc_refresh')
    const ofRefresh = refresh ? await findByRefresh(new Secret(refresh), ipOf(req)) : undefined
    const cookie = cookieOf(req, 'svc_session')
    const browser = cookie ? await browserSessions.findLinked(hashSecret(new Secret(cookie))) : null
    if (cookie && !browser) onUnknownCredential(ipOf(req))
    const devices = [ofAccess, ofRefresh, browser?.deviceSessionId]
    return { devices: new Set(devices.filter((id) => typeof id === 'string')), browser }
  }

  return {
    async findCurrent(req) {
      const { devices, browser } = await findByCredentials(req)
      return browser ? [...devices, browser.id] : [...devices]
    },
    async here(req) {
      const { devices, browser } = await findByCredentials(req)
      for (const sessionId of devices) await endDevice(sessionId, ipOf(req))
      if (browser) await browserSessions.signOut(browser.id, clock.now(), ipOf(req))
    },
    async byToken(token, ip) {
      // Tried as a refresh token last, because that reports every other text as an unknown credential.
      const sessionId = (await findByAccess(token)) ?? (await findByRefresh(token, ip))
      if (sessionId !== undefined) await endDevice(sessionId, ip)
    },
  }
}
