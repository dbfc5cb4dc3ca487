import { verifyAccessToken } from '../../access/access-token.ts'
import type { FindPublicKey } from '../../access/access-token.ts'
import { makeDeviceSessionAccessStore } from '../../access/device-session-store.ts'
import type { Database } from '../../database/client.ts'
import { bearerOf, callerOfToken } from '../../http/authenticate.ts'
import type { Schemes } from '../../http/authenticate.ts'
import { cookieOf } from '../../http/cookies.ts'
import { ipOf } from '../../http/request.ts'
import type { Identify } from '../../kernel/caller.ts'
import type { Clock } from '../../kernel/clock.ts'
import { Secret } from '../../kernel/secret.ts'
import { makeIdentifyBrowser } from '../browser-session/identify.ts'
import { makeBrowserSessionStore } from '../browser-session/store.ts'
import type { OnUnknownCredential } from './unknown-credentials.ts'

type Needs = {
  readonly database: Database
  readonly findPublicKey: FindPublicKey
  readonly issuer: string
  readonly onUnknownCredential: OnUnknownCredential
  readonly clock: Clock
}

/**
 * Identifies callers by access token or session cookie. The control plane asks the database each time, without a cache:
 * a session that was revoked a moment ago must not change anything.
 */
export function makeControlSchemes(needs: Needs): Schemes {
  const { database, findPublicKey, issuer, onUnknownCredential, clock } = needs
  const { findDeviceCaller } = makeDeviceSessionAccessStore(database)
  const identifyBearer: Identify = async (token) => {
    const verified = await verifyAccessToken(token, issuer, findPublicKey, clock.now())
    return verified && findDeviceCaller(verified.claims.sessionId)
  }
  const sessions = makeBrowserSessionStore(database)
  const identifyBrowser = makeIdentifyBrowser({ sessions, onUnknownCredential, clock })
  return {
    AccessToken: (req) => callerOfToken(bearerOf(req), identifyBearer),
    AccessCookie: (req) => callerOfToken(cookieOf(req, 'svc_access'), identifyBearer),
    SessionCookie(req) {
      const cookie = cookieOf(req, 'svc_session')
      return cookie ? identifyBrowser(new Secret(cookie), ipOf(req)) : null
    },
  }
}
