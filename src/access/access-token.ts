import type { CryptoKey } from 'jose'
import { JOSEError, JWSInvalid } from 'jose/errors'
import { SignJWT } from 'jose/jwt/sign'
import { jwtVerify } from 'jose/jwt/verify'
import type { Role } from '../kernel/caller.ts'
import { newIdentifier } from '../kernel/identifier.ts'
import { Secret } from '../kernel/secret.ts'

/** The audience of every access token: the gateways of this deployment. */
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

/** What a new access token says: also which client it is for (RFC 9068, section 2.2). */
export type IssuedClaims = AccessClaims & { readonly clientId: string }

export type SigningKey = { readonly kid: string; readonly privateKey: CryptoKey }

/** Finds the public key of a `kid`; undefined when no such key exists. */
export type FindPublicKey = (kid: string) => Promise<CryptoKey | undefined> | CryptoKey | undefined

/** Signs an EdDSA JWT. `expiresAt` is rounded down to whole seconds, as JWTs count in seconds. */
export async function signAccessToken(
  claims: IssuedClaims,
  issuer: string,
  key: SigningKey,
  now: Date,
  expiresAt: Date,
): Promise<Secret> {
  const { accountId, clientId, sessionId, organization, team, role } = claims
  const token = await new SignJWT({ client_id: clientId, sid: sessionId, org: organization, team, role })
    .setProtectedHeader({ alg: 'EdDSA', typ: TYPE, kid: key.kid })
    .setIssuer(issuer)
    .setAudience(AUDIENCE)
    .setSubject(accountId)
    .setIssuedAt(now)
    .setExpirationTime(expiresAt)
    .setJti(newIdentifier('jti_'))
    .sign(key.privateKey)
  return new Secret(token)
}

/** A verified token: its claims, and its expiry in milliseconds since 1970. */
export type VerifiedToken = { readonly claims: AccessClaims; readonly expiresAtMs: number }

/**
 * Verifies a token at the given time; null when this service did not sign it or when it has expired. Only EdDSA
 * counts, and only keys found by `kid`: keys inside the token (`jwk`, `jku`, `x5u`) are ignored. Rejects with whatever
 * `findKey` throws.
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
        if (!key) throw new JWSInvalid('Unknown key.')
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
    if (error instanceof JOSEError) return null
    throw error
  }
}

/** Verifies a token and ignores its expiry: signing out with an expired token still ends that token's session. */
export function verifyIgnoringExpiry(
  token: Secret,
  issuer: string,
  findKey: FindPublicKey,
): Promise<VerifiedToken | null> {
  return verifyAccessToken(token, issuer, findKey, new Date(0))
}

/**
 * Reads the claims that `signAccessToken` wrote, but for those that only other services read. The signature has been
 * checked, so their types are known.
 */
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
