import type { LookupAddress } from 'node:dns'
import { lookup } from 'node:dns/promises'
import type { LookupFunction } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { putNewest } from '../../kernel/bounded-map.ts'
import { hasCode } from '../../kernel/error-code.ts'

type Addresses = readonly [LookupAddress, ...LookupAddress[]]

/** Looks up all addresses of a host. */
type FindAddresses = (hostname: string) => Promise<Addresses>

/** How long a connection waits for an answer while the last known addresses could be used (RFC 8767, section 5). */
const MAX_WAIT_MS = 1800

/** How long addresses are used while newer ones cannot be looked up. */
const MAX_AGE_MS = 3_600_000

const MAX_HOSTS = 1000

/**
 * Makes the name look-up that the connections of all backends share. A look-up occupies one of few threads of the
 * process, for ten seconds and more when name servers do not answer. So each host is looked up once at a time, and not
 * for each connection. Where its last known addresses are not too old, they are used when no answer comes in time, and
 * when name servers report a temporary failure.
 */
export function makeSharedLookup(find: FindAddresses = findAddresses, maxWaitMs = MAX_WAIT_MS): LookupFunction {
  const lastKnown = new Map<string, { readonly addresses: Addresses; readonly foundAt: number }>()
  const running = new Map<string, Promise<Addresses>>()

  function lookUp(hostname: string): Promise<Addresses> {
    const last = lastKnown.get(hostname)
    const known = last && performance.now() - last.foundAt < MAX_AGE_MS ? last.addresses : null
    const answer = find(hostname)
      .then((addresses) => {
        putNewest(lastKnown, hostname, { addresses, foundAt: performance.now() }, MAX_HOSTS)
        return addresses
      })
      .catch((error: unknown) => {
        if (known && !hasCode(error, 'ENOTFOUND')) return known
        lastKnown.delete(hostname)
        throw error
      })
      .finally(() => running.delete(hostname))
    const inTime = known ? Promise.race([answer, sleep(maxWaitMs, known, { ref: false })]) : answer
    running.set(hostname, inTime)
    return inTime
  }

  return (hostname, options, callback) => {
    const answer = running.get(hostname) ?? lookUp(hostname)
    answer.then(
      (addresses) => {
        if (options.all) callback(null, [...addresses])
        else callback(null, addresses[0].address, addresses[0].family)
      },
      (error: unknown) => callback(error instanceof Error ? error : new Error(String(error)), []),
    )
  }
}

async function findAddresses(hostname: string): Promise<Addresses> {
  const [first, ...others] = await lookup(hostname, { all: true })
  if (!first) throw new Error(`${hostname} has no address.`)
  return [first, ...others]
}
