import { randomUUID } from 'node:crypto'
import { errors, jwtVerify, SignJWT } from 'jose'
import type { CryptoKey } from 'jose'
import type { Role } from './caller.ts'
import { Secret } from './secret.ts'

/** Whom access tokens are for: any gateway of this deployment. */
const AUDIENCE = 'svc-gateway'

/** The type of a JWT access token (RFC 9068, section 2.1). */
const TYPE = 'at+jwt'

/** What an access token says about its holder. */
export type AccessClaims = {
  readonly accountId: string
  /** The device session that the token belongs to. */
  readonly sessionId: string
  readonly organization: string
  /** `@organization/name`. */
  readonly team: string
  readonly role: Role
}

export type SigningKey = { readonly kid: string; readonly privateKey: CryptoKey }

/** Finds the public key of a `kid`; undefined when there is none. */
export type FindPublicKey = (kid: string) => Promise<CryptoKey | undefined> | CryptoKey | undefined

/** Signs an EdDSA JWT. `expiresAt` counts in whole seconds, as JWTs do. */
export async function signAccessToken(
  claims: AccessClaims,
  issuer: string,
  key: SigningKey,
  now: Date,
  expiresAt: Date,
): Promise<Secret> {
  const { accountId, sessionId, organization, team, role } = claims
  const token = await new SignJWT({ sid: sessionId, org: organization, team, role })
    .setProtectedHeader({ alg: 'EdDSA', typ: TYPE, kid: key.kid })
    .setIssuer(issuer)
    .setAudience(AUDIENCE)
    .setSubject(accountId)
    .setIssuedAt(now)
    .setExpirationTime(expiresAt)
    .setJti(randomUUID())
    .sign(key.privateKey)
  return new Secret(token)
}

/** A verified token: its claims, and when it ends in milliseconds since 1970. */
export type VerifiedToken = { readonly claims: AccessClaims; readonly expiresAtMs: number }

/**
 * Verifies a token at a moment; null when it is not one of ours or has ended. Only EdDSA and only keys found by `kid` count: keys that
 * the token itself brings along (`jwk`, `jku`, `x5u`) are ignored. Passes on what `findKey` throws.
 */
export async function verifyAccessToken(
  token: Secret,
  issuer: string,
  findKey: FindPublicKey,
  now: Date,
): Promise<VerifiedToken | null> {
  try {
    const { payload } = await jwtVerify(
      token.reveal(),
      async ({ kid }) => {
        const key = kid === undefined ? undefined : await findKey(kid)
        if (!key) throw new errors.JWSInvalid('unknown key')
        return key
      },
      {
        algorithms: ['EdDSA'],
        typ: TYPE,
        issuer,
        audience: AUDIENCE,
        currentDate: now,
        requiredClaims: ['sub', 'sid', 'exp'],
      },
    )
    return { claims: toClaims(payload), expiresAtMs: Number(payload.exp) * 1000 }
  } catch (error) {
    if (error instanceof errors.JOSEError) return null
    throw error
  }
}

/** Verifies a token whenever it may have ended: who signs out with an old token still means that session. */
export function verifyEndedToken(token: Secret, issuer: string, findKey: FindPublicKey): Promise<VerifiedToken | null> {
  return verifyAccessToken(token, issuer, findKey, new Date(0))
}

/** The signature was ours, so the claims are as `signAccessToken` wrote them. */
function toClaims(payload: Record<string, unknown>): AccessClaims {
  const { sub, sid, org, team, role } = payload
  return {
    accountId: String(sub),
    sessionId: String(sid),
    organization: String(org),
    team: String(team),
    role: role === 'admin' ? 'admin' : 'member',
  }
}
