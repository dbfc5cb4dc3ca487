import { putNewest } from '../kernel/bounded-map.ts'
import { networkKey, tooMany } from './rate-limit.ts'

/**
 * Counts the unknown credentials of each network. They cannot be guessed, but looking each of them up costs a query.
 * Only unknown ones count, so that many devices behind one address are not refused. Each process counts for itself,
 * because the limit protects the process.
 */
export type UnknownCount = {
  /** Counts a credential that the database does not know. */
  count(ip: string): void
  /** The seconds until a network may try again; 0 when it is below its limit. */
  waitSeconds(ip: string): number
  /** Throws `rate_limited` for a network at its limit. */
  refuse(ip: string): void
}

const WINDOW_MS = 60_000

/** How many networks are remembered. The oldest is forgotten first. */
const MAX_NETWORKS = 10_000

type Needs = {
  /** The limit within a minute; 0 is no limit. */
  readonly perMinute: number
  /** A clock that is never set back, in milliseconds. */
  readonly now?: () => number
}

/** Makes a count of this process. When it knows too many networks, it forgets the oldest. */
export function makeUnknownCount({ perMinute, now = () => performance.now() }: Needs): UnknownCount {
  const networks = new Map<string, { count: number; readonly endsAt: number }>()

  function waitSeconds(ip: string): number {
    const known = networks.get(networkKey(ip))
    const isReached = perMinute > 0 && known !== undefined && known.count >= perMinute
    return isReached ? Math.max(0, known.endsAt - now()) / 1000 : 0
  }

  return {
    count(ip) {
      const key = networkKey(ip)
      const known = networks.get(key)
      if (known && now() < known.endsAt) {
        known.count += 1
        return
      }
      putNewest(networks, key, { count: 1, endsAt: now() + WINDOW_MS }, MAX_NETWORKS)
    },
    waitSeconds,
    refuse(ip) {
      const retryAfterSeconds = waitSeconds(ip)
      if (retryAfterSeconds > 0) throw tooMany('unknown credentials from your network', retryAfterSeconds)
    },
  }
}
