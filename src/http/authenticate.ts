import type { Request } from 'express'
import type { Caller } from '../kernel/caller.ts'
import { Secret } from '../kernel/secret.ts'
import { cookieOf } from './cookies.ts'

/** Who a credential belongs to; null when it is not good. Throws when it cannot tell. */
export type Identify = (credential: Secret) => Promise<Caller | null> | Caller | null

/** One function a security scheme of the contract. True: `req.caller` is set. */
export type Authenticate = Readonly<Record<SchemeName, (req: Request) => Promise<boolean>>>

type SchemeName = 'AccessToken' | 'ApiKey' | 'SessionCookie' | 'AccessCookie'

type Needs = {
  readonly identifyBearer: Identify
  /** Null where cookies are not taken. */
  readonly identifyBrowser: Identify | null
  readonly onFailure: (error: unknown) => void
}

/** The security handlers of a part. They never throw: what keeps one from telling who calls is left in `req.callerUnknown`. */
export function authenticator({ identifyBearer, identifyBrowser, onFailure }: Needs): Authenticate {
  const by =
    (credentialOf: (req: Request) => string | undefined, identify: Identify | null) => async (req: Request) => {
      const credential = credentialOf(req)
      // Alternatives run side by side; the first one that knows the caller counts.
      if (!credential || !identify) return false
      try {
        const caller = await identify(new Secret(credential))
        if (caller) req.caller ??= caller
        return caller !== null
      } catch (error) {
        onFailure(error)
        // Told by the guard: the validator would make 401 or 500 of whatever is thrown here.
        req.callerUnknown = error
        return false
      }
    }
  return {
    AccessToken: by(bearerOf, identifyBearer),
    ApiKey: by((req) => req.get('x-api-key'), identifyBearer),
    SessionCookie: by((req) => cookieOf(req, 'svc_session'), identifyBrowser),
    AccessCookie: by((req) => cookieOf(req, 'svc_access'), identifyBrowser && identifyBearer),
  }
}

/** The token of `Authorization: Bearer` (RFC 6750, section 2.1). */
export function bearerOf(req: Pick<Request, 'headers'>): string | undefined {
  return /^bearer +(\S+) *$/i.exec(req.headers.authorization ?? '')?.[1]
}
