import { putNewest } from '../kernel/bounded-map.ts'
import type { Caller, IdentifyKey } from '../kernel/caller.ts'
import type { Clock } from '../kernel/clock.ts'
import { isApiKey } from '../kernel/credentials/api-key.ts'
import { hashSecret } from '../kernel/secret.ts'
import type { SecretHash } from '../kernel/secret.ts'
import type { FoundKey } from './api-key-store.ts'
import type { LiveStates } from './live-states.ts'

/** Limits the API keys of one network that the database does not know. */
export type UnknownKeys = {
  /** Throws when the network has sent too many. */
  refuse(ip: string): void
  count(ip: string): void
}

type Needs = {
  /** Finds a key; null when there is none. Rejects when the database does not answer. */
  readonly findKey: (where: { readonly hash: SecretHash } | { readonly id: string }) => Promise<FoundKey | null>
  readonly states: Pick<LiveStates, 'callerOf' | 'remember'>
  readonly unknownKeys: UnknownKeys
  readonly clock: Clock
}

const MAX_KEYS = 20_000

/** The last known facts about a key, found by its hash. */
type KnownKey = { readonly id: string; readonly expiresAt: Date }

/**
 * Identifies the callers of the gateway by API keys. A key is looked up once by its hash. After that, calls use its
 * last known state, as they do for sessions.
 */
export function makeIdentifyKey({ findKey, states, unknownKeys, clock }: Needs): IdentifyKey {
  const known = new Map<SecretHash, KnownKey>()
  const lookups = new Map<SecretHash, Promise<Caller | null>>()

  function remember(hash: SecretHash, { id, expiresAt }: KnownKey): void {
    putNewest(known, hash, { id, expiresAt }, MAX_KEYS)
  }

  async function lookUp(hash: SecretHash, ip: string): Promise<Caller | null> {
    const askedAt = performance.now()
    const found = await findKey({ hash })
    if (!found) {
      unknownKeys.count(ip)
      return null
    }
    remember(hash, found)
    return accept(found, states.remember(found.id, found.caller, askedAt))
  }

  /** Looks a key up once for all calls that wait for it. */
  function lookUpOnce(hash: SecretHash, ip: string): Promise<Caller | null> {
    const running = lookups.get(hash)
    if (running) return running
    unknownKeys.refuse(ip)
    const lookup = lookUp(hash, ip).finally(() => lookups.delete(hash))
    lookups.set(hash, lookup)
    return lookup
  }

  function callerOf(hash: SecretHash, { id }: KnownKey): Promise<Caller | null> | Caller | null {
    return states.callerOf(id, async () => {
      const found = await findKey({ id })
      // A rotation brings the end of a key forward.
      if (found) remember(hash, found)
      return found?.caller ?? null
    })
  }

  /** The caller, unless the key has expired. */
  function accept({ expiresAt }: Pick<KnownKey, 'expiresAt'>, caller: Caller | null): Caller | null {
    return clock.now() < expiresAt ? caller : null
  }

  return (key, ip) => {
    if (!isApiKey(key)) return null
    const hash = hashSecret(key)
    const knownKey = known.get(hash)
    if (!knownKey) return lookUpOnce(hash, ip)
    const caller = callerOf(hash, knownKey)
    // The query may have brought a new time of expiry.
    if (caller instanceof Promise) return caller.then((found) => accept(known.get(hash) ?? knownKey, found))
    return accept(knownKey, caller)
  }
}
