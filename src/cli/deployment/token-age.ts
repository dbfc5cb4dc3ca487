import { systemClock } from '../../kernel/clock.ts'
import type { DatedTokens } from './profiles.ts'

/** The minimum time for which a printed token is still valid. */
const MIN_VALID_SECONDS = 60

/**
 * Whether an access token is valid for another minute, or for half its life where that is shorter. Its age is counted
 * from when it was saved, because the clocks of this machine and of the deployment may differ.
 */
export function isFresh({ accessToken, savedAt }: DatedTokens, now: Date = systemClock.now()): boolean {
  const lifeSeconds = lifeOf(accessToken)
  const ageSeconds = savedAt === undefined ? NaN : (now.getTime() - Date.parse(savedAt)) / 1000
  if (lifeSeconds === null || !(ageSeconds >= 0)) return false
  return lifeSeconds - ageSeconds >= Math.min(MIN_VALID_SECONDS, lifeSeconds / 2)
}

/** The seconds between `iat` and `exp` of a JWT (RFC 7519, section 4.1); null when it does not say. */
function lifeOf(jwt: string): number | null {
  try {
    const payload = JSON.parse(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString('utf8')) as unknown
    const { iat, exp } = (payload ?? {}) as { iat?: unknown; exp?: unknown }
    return typeof iat === 'number' && typeof exp === 'number' ? exp - iat : null
  } catch {
    return null
  }
}
