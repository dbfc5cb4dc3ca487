import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SERVER_TIMEOUTS } from '../../src/server/listener.ts'
import { holdTimeouts } from '../support/held-timeouts.ts'
import { json } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'
import { startSlowClients } from '../support/slow-clients.ts'
import { median, timesOf } from '../support/timing.ts'

const ADA = 'ada@example.com'
const POLL = '/v1/auth/device/poll'
const head = (path: string, more: string) =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${more}`
const chunked = (path: string) => head(path, 'Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n')
const ofLength = (path: string) => head(path, 'Content-Length: 2000\r\n\r\n{')
/** A busy machine may take a while; what never comes does not come then either. */
const PATIENTLY = { timeout: 10_000 }
const CHUNK = '1\r\n \r\n'

let service: TestService

beforeAll(async () => {
  service = await startService({ timeouts: { headersTimeout: 500, connectionsCheckingInterval: 50 } })
})
afterAll(() => service[Symbol.asyncDispose]())

describe('a body that never ends', () => {
  const begun = (count: number, beginning: (index: number) => string, next: (index: number) => string) =>
    startSlowClients(service.port, count, beginning, { everyMs: 20, next })

  it.each([
    ['in chunks', chunked(POLL), CHUNK],
    ['of a length that it never reaches', ofLength(POLL), ' '],
    [
      'in a form',
      chunked('/v1/auth/magic/consume').replace('application/json', 'application/x-www-form-urlencoded'),
      CHUNK,
    ],
    ['of a passkey', chunked('/v1/auth/passkeys/login/finish'), CHUNK],
    [
      'of a token request',
      chunked('/oauth/token').replace('application/json', 'application/x-www-form-urlencoded'),
      CHUNK,
    ],
  ])('%s is refused after ten seconds, and its connection closed', async (_, beginning, next) => {
    using patience = holdTimeouts(10_000)
    using slow = await begun(
      1,
      () => beginning,
      () => next,
    )
    await expect.poll(patience.waiting, PATIENTLY).toBe(1)
    expect([slow.open(), slow.answers[0]]).toEqual([1, ''])
    patience.fire()
    await expect.poll(slow.open, PATIENTLY).toBe(0)
    expect(slow.answers[0]).toMatch(/^HTTP\/1\.1 400 /)
    expect(slow.answers[0]).toMatch(/^Connection: close\r$/m)
    expect(slow.answers[0]).toContain('invalid_request')
    expect(patience.waiting()).toBe(0)
  })

  it('is nobody’s whose body has come: nothing is left to wait for, and the connection stays', async () => {
    using patience = holdTimeouts(10_000)
    const body = JSON.stringify({ deviceCode: 'svcd_nobody' })
    const whole = `${head(POLL, `Content-Length: ${body.length}`)}\r\n\r\n${body}`
    using asking = await begun(
      1,
      () => whole,
      () => '',
    )
    await expect.poll(() => asking.answers[0], PATIENTLY).toContain('unauthorized')
    expect(patience.waiting()).toBe(0)
    expect(asking.open()).toBe(1)
  })
})

describe('hundreds of clients that send a byte at a time', () => {
  async function expectOthersServed(deviceCode: string): Promise<void> {
    const polls = await timesOf(30, () => service.fetch(POLL, json({ deviceCode })))
    const healths = await timesOf(30, () => service.fetch('/healthz'))
    expect(median(polls)).toBeLessThan(100)
    expect(median(healths)).toBeLessThan(100)
  }

  it('of a body keep nobody else waiting, and are all closed when their time is over', async () => {
    const { deviceCode } = await service.startLogin(ADA)
    using patience = holdTimeouts(10_000)
    const trickle = { everyMs: 200, next: () => CHUNK }
    using slow = await startSlowClients(service.port, 500, () => chunked(POLL), trickle)
    await expect.poll(patience.waiting, PATIENTLY).toBe(500)
    await expectOthersServed(deviceCode)
    expect(slow.open()).toBe(500)

    patience.fire()
    await expect.poll(slow.open, PATIENTLY).toBe(0)
    expect((await service.fetch('/healthz')).status).toBe(200)
  })

  it('of their headers keep nobody else waiting either, and are told and closed when their time is over', async () => {
    const { deviceCode } = await service.startLogin(ADA)
    const headers = `GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: `
    using slow = await startSlowClients(service.port, 250, () => headers, { everyMs: 200, next: () => 'a' })
    await expectOthersServed(deviceCode)
    await expect.poll(slow.open, PATIENTLY).toBe(0)
    // Whoever hangs up on somebody who goes on sending cannot be sure that the last word is heard.
    expect(slow.answers.filter((answer) => answer.startsWith('HTTP/1.1 408 ')).length).toBeGreaterThan(100)
    expect((await service.fetch('/healthz')).status).toBe(200)
  })

  it('have their time in production too: 0 would be for ever', () => {
    expect(SERVER_TIMEOUTS.headersTimeout).toBeGreaterThan(0)
    expect(SERVER_TIMEOUTS.headersTimeout).toBeLessThanOrEqual(20_000)
    expect(SERVER_TIMEOUTS.requestTimeout).toBeGreaterThan(0)
    expect(SERVER_TIMEOUTS.requestTimeout).toBeLessThanOrEqual(300_000)
    expect(SERVER_TIMEOUTS.connectionsCheckingInterval).toBeGreaterThan(0)
    expect(SERVER_TIMEOUTS.connectionsCheckingInterval).toBeLessThanOrEqual(30_000)
  })
})
