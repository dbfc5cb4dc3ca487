import type { LookupAddress } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { makeSharedLookup } from '../../src/gateway/backends/shared-lookup.ts'

const HOST = 'vendor.example'
const OLD: LookupAddress = { address: '192.0.2.1', family: 4 }
const NEW: LookupAddress = { address: '2001:db8::1', family: 6 }
const failure = (code: string) => Object.assign(new Error(`getaddrinfo ${code}`), { code })

/** A shared look-up whose answers the test gives, one for each time that the system is asked. */
function open() {
  const asked: PromiseWithResolvers<[LookupAddress]>[] = []
  const find = () => {
    const answer = Promise.withResolvers<[LookupAddress]>()
    asked.push(answer)
    return answer.promise
  }
  return { asked, lookUp: promised(makeSharedLookup(find, 20)) }
}

const promised = (lookup: LookupFunction) => (all: boolean) =>
  new Promise<unknown>((resolve, reject) => {
    lookup(HOST, { all }, (error, address, family) =>
      error ? reject(error) : resolve(all ? address : [address, family]),
    )
  })

describe('the look-up of a host', () => {
  it('is shared by the connections that wait for it, in the form that each asks for', async () => {
    const { asked, lookUp } = open()
    const [first, second] = [lookUp(true), lookUp(false)]
    expect(asked).toHaveLength(1)
    asked[0]?.resolve([OLD])
    expect([await first, await second]).toEqual([[OLD], [OLD.address, OLD.family]])

    const next = lookUp(true)
    asked[1]?.resolve([NEW])
    expect(await next).toEqual([NEW])
  })

  it('gives the last known addresses when no answer comes in time, and the new ones afterwards', async () => {
    const { asked, lookUp } = open()
    const first = lookUp(true)
    asked[0]?.resolve([OLD])
    await first

    expect(await lookUp(true)).toEqual([OLD])
    expect(await lookUp(true)).toEqual([OLD])
    expect(asked).toHaveLength(2)
    asked[1]?.resolve([NEW])
    await setImmediate()
    const next = lookUp(true)
    asked[2]?.reject(failure('EAI_AGAIN'))
    expect(await next).toEqual([NEW])
  })

  it('fails when the host does not exist any more, and when it was never known', async () => {
    const { asked, lookUp } = open()
    const unknown = lookUp(true)
    asked[0]?.reject(failure('EAI_AGAIN'))
    await expect(unknown).rejects.toThrow('EAI_AGAIN')

    const known = lookUp(true)
    asked[1]?.resolve([OLD])
    await known
    for (const code of ['ENOTFOUND', 'EAI_AGAIN']) {
      const gone = lookUp(true)
      asked.at(-1)?.reject(failure(code))
      await expect(gone).rejects.toThrow(code)
    }
  })
})
