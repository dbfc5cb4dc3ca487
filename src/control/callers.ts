import type { PrismaClient } from '../../generated/prisma/client.ts'
import { securitySchemes } from '../http/authenticate.ts'
import type { Identify, Schemes } from '../http/authenticate.ts'
import { verifyAccessToken } from '../access/access-token.ts'
import type { FindPublicKey } from '../access/access-token.ts'
import type { Caller } from '../kernel/caller.ts'
import type { Clock } from '../kernel/clock.ts'
import { makeIdentifyBrowser } from './browser-session/identify.ts'
import { makeBrowserSessionStore } from './browser-session/store.ts'

type Needs = {
  readonly db: PrismaClient
  /** The caller of a live device session; null when it has ended. */
  readonly findDeviceCaller: (sessionId: string) => Promise<Caller | null>
  readonly findPublicKey: FindPublicKey
  readonly issuer: string
  readonly clock: Clock
}

/**
 * Identifies callers by access token or session cookie. The control plane asks the database each time, without a cache:
 * a session that was revoked a moment ago must not change anything.
 */
export function makeControlSchemes({ db, findDeviceCaller, findPublicKey, issuer, clock }: Needs): Schemes {
  const identifyBearer: Identify = async (token) => {
    const verified = await verifyAccessToken(token, issuer, findPublicKey, clock.now())
    return verified && findDeviceCaller(verified.claims.sessionId)
  }
  const identifyBrowser = makeIdentifyBrowser({ sessions: makeBrowserSessionStore(db), clock })
  return securitySchemes({ identifyBearer, identifyBrowser })
}
