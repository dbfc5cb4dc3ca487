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

/** The security handlers of a part. That the service cannot tell who calls is 503, never 401: clients throw good tokens away on 401. */
export function authenticator({ identifyBearer, identifyBrowser, onFailure }: Needs): Authenticate {
  const by =
    (credentialOf: (req: Request) => string | undefined, identify: Identify | null) => async (req: Request) => {
      const credential = credentialOf(req)
      // Alternatives run side by side; the first one that knows the caller counts.
      if (!credential || !identify) return false
      const caller = await identified(identify, new Secret(credential), onFailure)
      if (caller) req.caller ??= caller
      return caller !== null
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

async function identified(
  identify: Identify,
  credential: Secret,
  onFailure: Needs['onFailure'],
): Promise<Caller | null> {
  try {
    return await identify(credential)
  } catch (error) {
    onFailure(error)
    // The validator keeps nothing of an error but its status.
    throw Object.assign(new Error('The credential could not be checked.'), { status: 503 })
  }
}
