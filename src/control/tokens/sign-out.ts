import type { Request } from 'express'
import { bearerOf } from '../../http/authenticate.ts'
import { cookieOf } from '../../http/cookies.ts'
import { ipOf } from '../../http/request.ts'
import type { FindPublicKey } from '../../access/access-token.ts'
import { verifyEndedToken } from '../../access/access-token.ts'
import { hashSecret, Secret } from '../../kernel/secret.ts'
import type { BrowserSessionStore } from '../browser-session/store.ts'
import type { FindPresentedToken } from './refresh.ts'
import type { DeviceSessionStore } from './store.ts'

type Needs = {
  readonly sessions: DeviceSessionStore
  readonly browserSessions: BrowserSessionStore
  readonly findPresentedToken: FindPresentedToken
  readonly findPublicKey: FindPublicKey
  readonly issuer: string
  readonly onSessionEnd: (sessionId: string) => void
  /** Called with the IP address of a request whose credential is not known. */
  readonly onUnknownCredential: (ip: string) => void
}

/** The sessions that a request carries credentials of. An expired access token still names its session. */
export type CurrentSessions = {
  readonly devices: readonly string[]
  /** The session of the session cookie. */
  readonly browser: string | null
}

export type SignOut = {
  /** Finds the sessions that the request is signed in with. */
  findCurrent(req: Request): Promise<CurrentSessions>
  /** Ends them. Unknown credentials leave nothing to end, so this never refuses. */
  here(req: Request, now: Date): Promise<void>
}

export function makeSignOut(needs: Needs): SignOut {
  const { sessions, browserSessions, findPresentedToken, findPublicKey, issuer } = needs
  const { onSessionEnd, onUnknownCredential } = needs

  async function findCurrent(req: Request): Promise<CurrentSessions> {
    const access = bearerOf(req) ?? cookieOf(req, 'svc_access')
    const verified = access ? await verifyEndedToken(new Secret(access), issuer, findPublicKey) : null
    const refresh = cookieOf(req, 'svc_refresh')
    const presented = refresh ? await findPresentedToken(new Secret(refresh), ipOf(req)) : null
    const cookie = cookieOf(req, 'svc_session')
    const browser = cookie ? await browserSessions.findLinked(hashSecret(new Secret(cookie))) : null
    if (cookie && !browser) onUnknownCredential(ipOf(req))
    const devices = [verified?.claims.sessionId, presented?.session.id, browser?.deviceSessionId]
    return { devices: [...new Set(devices.filter((id) => typeof id === 'string'))], browser: browser?.id ?? null }
  }

  return {
    findCurrent,
    async here(req, now) {
      const { devices, browser } = await findCurrent(req)
      for (const sessionId of devices) {
        await sessions.revoke(sessionId, 'logout', now, ipOf(req))
        onSessionEnd(sessionId)
      }
      if (browser) await browserSessions.revoke(browser, 'logout', now, ipOf(req))
    },
  }
}
