import type { LookupFunction } from 'node:net'

/**
 * Makes the name look-up of connections to hosts that an admin has named. It drops the addresses that are not allowed,
 * and fails with `ERR_ADDRESS_NOT_ALLOWED` when none is left. It runs at each connect, and the connection goes to the
 * address that was checked, so a name that changes its addresses gains nothing. Node calls no look-up when the host is
 * an IP address, so the caller has to check that one.
 */
export function makeCheckedLookup(isAllowed: (address: string) => boolean, lookup: LookupFunction): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, found) => {
      // A list, because all addresses were asked for.
      if (error || typeof found === 'string') return callback(error, [])
      const [first, ...others] = found.filter(({ address }) => isAllowed(address))
      if (!first) return callback(refuse(hostname), [])
      return options.all ? callback(null, [first, ...others]) : callback(null, first.address, first.family)
    })
  }
}

function refuse(hostname: string): NodeJS.ErrnoException {
  const message = `${hostname} has no address that SVC_ADMIN_BACKEND_HOSTS allows.`
  return Object.assign(new Error(message), { code: 'ERR_ADDRESS_NOT_ALLOWED' })
}
