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
  /** Throws `rate_limited` for a network at its limit. */
  refuse(ip: string): void
}

const WINDOW_MS = 60_000

/** How many networks are remembered. The oldest is forgotten first. */
const MAX_NETWORKS = 10_000

/** Makes a count of this process. When it knows too many networks, it forgets the oldest. Zero a minute is no limit. */
export function makeUnknownCount({ perMinute }: { readonly perMinute: number }): UnknownCount {
  const networks = new Map<string, { count: number; readonly endsAt: number }>()
  return {
    count(ip) {
      const key = networkKey(ip)
      const known = networks.get(key)
      const now = performance.now()
      if (known && now < known.endsAt) known.count += 1
      else putNewest(networks, key, { count: 1, endsAt: now + WINDOW_MS }, MAX_NETWORKS)
    },
    refuse(ip) {
      const known = networks.get(networkKey(ip))
      if (!known || perMinute === 0 || known.count < perMinute) return
      const waitMs = known.endsAt - performance.now()
      if (waitMs > 0) throw tooMany('unknown credentials from your network', waitMs / 1000)
    },
  }
}
