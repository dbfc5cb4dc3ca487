import { signAccessToken } from '../../access/access-token.ts'
import type { SigningKey } from '../../access/access-token.ts'
import { addSeconds } from '../../kernel/clock.ts'
import { makeRefreshToken } from '../../kernel/refresh-token.ts'
import type { RefreshKey } from '../../kernel/refresh-token.ts'
import type { Secret } from '../../kernel/secret.ts'
import type { DeviceSession } from './store.ts'

/** The tokens of a device session: a new access token, and the refresh token of the session's generation. */
export type IssuedTokens = { readonly accessToken: Secret; readonly refreshToken: Secret; readonly expiresAt: Date }

export type IssueTokens = (session: DeviceSession, now: Date) => Promise<IssuedTokens>

type Needs = {
  readonly keys: { signingKey(): SigningKey; refreshKey(): RefreshKey }
  readonly issuer: string
  readonly accessTokenSeconds: number
}

export function issueTokens({ keys, issuer, accessTokenSeconds }: Needs): IssueTokens {
  return async (session, now) => {
    const { id: sessionId, accountId, organization, team, role } = session
    // JWTs count whole seconds; what we say is what the token says.
    const expiresAt = addSeconds(new Date(Math.floor(now.getTime() / 1000) * 1000), accessTokenSeconds)
    return {
      accessToken: await signAccessToken(
        { accountId, sessionId, organization, team, role },
        issuer,
        keys.signingKey(),
        now,
        expiresAt,
      ),
      refreshToken: makeRefreshToken(keys.refreshKey(), session.salt, sessionId, session.generation),
      expiresAt,
    }
  }
}
