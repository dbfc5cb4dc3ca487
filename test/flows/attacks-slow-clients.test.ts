import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SERVER_TIMEOUTS } from '../../src/server/listener.ts'
import { holdTimeouts } from '../support/network/held-timeouts.ts'
import { atOnce, json } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'
import { startSlowClients } from '../support/network/slow-clients.ts'
import { waitForValue, waitUntil, withDeadline } from '../support/wait.ts'

const ADA = 'ada@example.com'
const POLL = '/v1/auth/device/poll'
const head = (path: string, more: string) =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${more}`
const chunked = (path: string) => head(path, 'Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n')
const ofLength = (path: string) => head(path, 'Content-Length: 2000\r\n\r\n{')
const CHUNK = '1\r\n \r\n'

let service: TestService

beforeAll(async () => {
  service = await startService()
})
afterAll(() => service[Symbol.asyncDispose]())

describe('a request body that never ends', () => {
  const startSlow = (count: number, beginning: (index: number) => string, next: (index: number) => string) =>
    startSlowClients(service.port, count, beginning, { everyMs: 20, next })

  it.each([
    ['in chunks', chunked(POLL), CHUNK],
    ['shorter than its Content-Length', ofLength(POLL), ' '],
    [
      'in a form',
      chunked('/v1/auth/magic/consume').replace('application/json', 'application/x-www-form-urlencoded'),
      CHUNK,
    ],
    ['of a passkey sign-in', chunked('/v1/auth/passkeys/login/finish'), CHUNK],
    [
      'of a token request',
      chunked('/oauth/token').replace('application/json', 'application/x-www-form-urlencoded'),
      CHUNK,
    ],
  ])('%s is refused after ten seconds, and its connection is closed', async (_, beginning, next) => {
    using timeouts = holdTimeouts(10_000)
    using slow = await startSlow(
      1,
      () => beginning,
      () => next,
    )
    await waitForValue('the timeout of the body', timeouts.waiting, 1)
    expect([slow.open(), slow.answers[0]]).toEqual([1, ''])
    timeouts.fire()
    await waitForValue('the slow connections to be closed', slow.open, 0)
    expect(slow.answers[0]).toMatch(/^HTTP\/1\.1 400 /)
    expect(slow.answers[0]).toMatch(/^Connection: close\r$/m)
    expect(slow.answers[0]).toContain('invalid_request')
    // Transactions of the background have the same timeout.
    await waitForValue('no timeout', timeouts.waiting, 0)
  })

  it('is not assumed after the whole body has arrived: no timeout is left, and the connection stays open', async () => {
    using timeouts = holdTimeouts(10_000)
    const body = JSON.stringify({ deviceCode: 'svcd_unknown' })
    const whole = `${head(POLL, `Content-Length: ${body.length}`)}\r\n\r\n${body}`
    using asking = await startSlow(
      1,
      () => whole,
      () => '',
    )
    await waitUntil(
      'the answer',
      () => asking.answers[0],
      (answer) => answer?.includes('unauthorized') ?? false,
    )
    // Transactions of the background have the same timeout.
    await waitForValue('no timeout', timeouts.waiting, 0)
    expect(asking.open()).toBe(1)
  })
})

describe('hundreds of clients that send one byte at a time', () => {
  async function expectOthersServed(service: TestService, deviceCode: string): Promise<void> {
    const polls = atOnce(30, async () => (await service.fetch(POLL, json({ deviceCode }))).status)
    expect(new Set(await withDeadline('answers to polls', polls))).toEqual(new Set([428, 429]))
    const healths = atOnce(30, async () => (await service.fetch('/healthz')).status)
    expect(new Set(await withDeadline('answers of /healthz', healths))).toEqual(new Set([200]))
  }

  it('of a body do not block other callers, and are all closed when the timeout ends', async () => {
    const { deviceCode } = await service.startLogin(ADA)
    using timeouts = holdTimeouts(10_000)
    const trickle = { everyMs: 500, next: () => CHUNK }
    using slow = await startSlowClients(service.port, 500, () => chunked(POLL), trickle)
    await waitForValue('the timeouts of all bodies', timeouts.waiting, 500)
    await expectOthersServed(service, deviceCode)
    expect(slow.open()).toBe(500)

    timeouts.fire()
    await waitForValue('the slow connections to be closed', slow.open, 0)
    expect((await service.fetch('/healthz')).status).toBe(200)
  })

  it('of their headers do not block other callers, and are answered 408 and closed when the timeout ends', async () => {
    // A service of its own: on a busy machine, a short timeout also ends requests whose headers are whole.
    await using service = await startService({ timeouts: { headersTimeout: 2000, connectionsCheckingInterval: 50 } })
    const { deviceCode } = await service.startLogin(ADA)
    const headers = `GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: `
    using slow = await startSlowClients(service.port, 250, () => headers, { everyMs: 200, next: () => 'a' })
    await expectOthersServed(service, deviceCode)
    await waitForValue('the slow connections to be closed', slow.open, 0)
    // The answer may be lost where a client still sends when its connection is closed.
    expect(slow.answers.filter((answer) => answer.startsWith('HTTP/1.1 408 ')).length).toBeGreaterThan(100)
    expect((await service.fetch('/healthz')).status).toBe(200)
  })

  it('are limited by timeouts in production too', () => {
    expect(SERVER_TIMEOUTS.headersTimeout).toBeGreaterThan(0)
    expect(SERVER_TIMEOUTS.headersTimeout).toBeLessThanOrEqual(20_000)
    expect(SERVER_TIMEOUTS.requestTimeout).toBeGreaterThan(0)
    expect(SERVER_TIMEOUTS.requestTimeout).toBeLessThanOrEqual(300_000)
    expect(SERVER_TIMEOUTS.connectionsCheckingInterval).toBeGreaterThan(0)
    expect(SERVER_TIMEOUTS.connectionsCheckingInterval).toBeLessThanOrEqual(30_000)
  })
})
