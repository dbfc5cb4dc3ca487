import { afterEach, describe, expect, it, vi } from 'vitest'
import { createClient } from '../../generated/sdk/index.js'
import { withRetries } from '../../src/sdk/fetch.ts'
import { wait } from '../../src/sdk/wait.ts'

type Refusal = { status: number; headers?: Record<string, string> }

/**
 * Sends a request to a service that first gives these answers, and then 200. Returns the last status, the waits and the
 * bodies that were sent.
 */
async function sent(refusals: Refusal[], { retries = 2, longestWaitSeconds = 60 } = {}) {
  const waits: number[] = []
  const bodies: string[] = []
  const send = withRetries(
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

describe('a request that gets 429 or 503', () => {
  it.each<[string, Refusal[], number, number[]]>([
    ['is sent again after Retry-After of a 429', [busy()], 200, [7]],
    ['is sent again after Retry-After of a 503', [busy('1', 503)], 200, [1]],
    ['returns the last answer after the last retry', [busy('1'), busy('2'), busy('3')], 429, [1, 2]],
    ['is not sent again without Retry-After', [{ status: 503 }], 503, []],
    [
      'is not sent again with x-should-retry: false',
      [{ status: 503, headers: { 'retry-after': '1', 'x-should-retry': 'false' } }],
      503,
      [],
    ],
    [
      'is not sent again after a status other than 429 and 503',
      [{ status: 500, headers: { 'retry-after': '1' } }],
      500,
      [],
    ],
    ['is not sent again when Retry-After is longer than the limit', [busy('61')], 429, []],
    ['is not sent again when Retry-After is a date', [busy('Sat, 21 Nov 2026 09:00:00 GMT')], 429, []],
  ])('%s', async (_name, refusals, status, waits) => {
    expect(await sent(refusals)).toMatchObject({ status, waits })
  })

  it('is sent again with its body', async () => {
    expect((await sent([busy(), busy()])).bodies).toEqual(['again', 'again', 'again'])
  })

  it('is not sent again with retries: 0', async () => {
    expect((await sent([busy()], { retries: 0 })).status).toBe(429)
  })

  it('stops waiting when its signal is aborted', async () => {
    const cancel = new AbortController()
    const client = createClient({
      baseUrl: 'http://svc.test',
      async fetch() {
        setImmediate(() => cancel.abort(new Error('cancelled by the test')))
        return Response.json({}, busy('50'))
      },
    })
    await expect(client.GET('/v1/models', { signal: cancel.signal })).rejects.toThrow('cancelled by the test')
  })
})

describe('the wait of a client', () => {
  afterEach(() => void vi.useRealTimers())

  it('does not end at once when it is longer than a timer can be', async () => {
    vi.useFakeTimers()
    let hasEnded = false
    void wait(3_000_000).then(() => (hasEnded = true))
    await vi.advanceTimersByTimeAsync(3_600_000)
    expect(hasEnded).toBe(false)
  })
})
