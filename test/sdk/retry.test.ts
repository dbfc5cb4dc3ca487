import { describe, expect, it } from 'vitest'
import { createClient } from '../../generated/sdk/index.js'
import { retrying } from '../../src/sdk/fetch.ts'

type Refusal = { status: number; headers?: Record<string, string> }

/** What a call sees and waits for when the service answers like this first, and 200 afterwards. */
async function sent(refusals: Refusal[], { retries = 2, longestWaitSeconds = 60 } = {}) {
  const waits: number[] = []
  const bodies: string[] = []
  const send = retrying(
    async (request) => {
      bodies.push(await request.text())
      const refusal = refusals.shift()
      return refusal ? Response.json({}, refusal) : Response.json({ ok: true })
    },
    { retries, longestWaitSeconds, wait: async (seconds) => void waits.push(seconds) },
  )
  const { status } = await send(new Request('http://svc.test', { method: 'POST', body: 'again' }))
  return { status, waits, bodies }
}

const busy = (seconds = '7', status = 429) => ({ status, headers: { 'retry-after': seconds } })

describe('a request that is refused', () => {
  it.each<[string, Refusal[], number, number[]]>([
    ['waits as told after 429', [busy()], 200, [7]],
    ['waits as told after 503', [busy('1', 503)], 200, [1]],
    ['is handed on after the last try', [busy('1'), busy('2'), busy('3')], 429, [1, 2]],
    ['is not sent again without Retry-After', [{ status: 503 }], 503, []],
    [
      'is not sent again when that is no cure',
      [{ status: 503, headers: { 'retry-after': '1', 'x-should-retry': 'false' } }],
      503,
      [],
    ],
    ['is not sent again after another error', [{ status: 500, headers: { 'retry-after': '1' } }], 500, []],
    ['is not sent again when the wait is too long', [busy('61')], 429, []],
    ['is not sent again for a date', [busy('Sat, 21 Nov 2026 09:00:00 GMT')], 429, []],
  ])('%s', async (_name, refusals, status, waits) => {
    expect(await sent(refusals)).toMatchObject({ status, waits })
  })

  it('carries its body each time', async () => {
    expect((await sent([busy(), busy()])).bodies).toEqual(['again', 'again', 'again'])
  })

  it('is not sent again with retries: 0', async () => {
    expect((await sent([busy()], { retries: 0 })).status).toBe(429)
  })

  it('stops waiting when it is cancelled', async () => {
    const cancel = new AbortController()
    const client = createClient({
      baseUrl: 'http://svc.test',
      async fetch() {
        setImmediate(() => cancel.abort(new Error('no longer')))
        return Response.json({}, busy('50'))
      },
    })
    await expect(client.GET('/v1/models', { signal: cancel.signal })).rejects.toThrow('no longer')
  })
})
