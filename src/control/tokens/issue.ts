import { signAccessToken } from '../../access/access-token.ts'
import type { Keyring } from '../../access/keyring.ts'
import { addSeconds } from '../../kernel/clock.ts'
import type { Clock } from '../../kernel/clock.ts'
import { makeRefreshToken } from '../../kernel/credentials/refresh-token.ts'
import type { Secret } from '../../kernel/secret.ts'
import type { DeviceSession } from './rows.ts'

/** The tokens of a device session: a new access token, and the refresh token of the session's generation. */
export type IssuedTokens = { readonly accessToken: Secret; readonly refreshToken: Secret; readonly expiresAt: Date }

/** Makes the tokens of a session. It writes nothing: both are computed from the session and the service's keys. */
export type IssueTokens = (session: DeviceSession) => Promise<IssuedTokens>

type Needs = {
  readonly keys: Pick<Keyring, 'signingKey' | 'refreshKey'>
  readonly issuer: string
  readonly accessTokenSeconds: number
  readonly clock: Clock
}

/** The client of sessions that were not opened by OAuth, or whose client named no id: a claim is required. */
const OWN_CLIENT = 'svc'

/** Makes the function with the keys that sign now. */
export function makeIssueTokens({ keys, issuer, accessTokenSeconds, clock }: Needs): IssueTokens {
  return async (session) => {
    const now = clock.now()
    const { id: sessionId, accountId, organization, team, role, clientId } = session
    // A JWT counts whole seconds. Rounding first makes the `expiresAt` of the answer equal to the token's `exp`.
    const expiresAt = addSeconds(new Date(Math.floor(now.getTime() / 1000) * 1000), accessTokenSeconds)
    const claims = { accountId, sessionId, organization, team, role, clientId: clientId ?? OWN_CLIENT }
    return {
      accessToken: await signAccessToken(claims, issuer, keys.signingKey(), now, expiresAt),
      refreshToken: makeRefreshToken(keys.refreshKey(), session.salt, sessionId, session.generation),
      expiresAt,
    }
  }
}
