import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { deviceLogin, memoryTokenStore, unwrap } from '../../generated/sdk/index.js'
import type { DeviceLoginOptions } from '../../generated/sdk/index.js'
import { form } from '../support/requests.ts'
import { mailTokenOf, people } from '../support/people.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const team = people()
let service: TestService

beforeAll(async () => {
  service = await startService({ directory: team.directory })
})
afterAll(() => service[Symbol.asyncDispose]())

/**
 * Starts a login whose waits advance the clock of the service instead of taking time. `during[n]` runs in the n-th
 * wait.
 */
function login(given: Partial<DeviceLoginOptions> & { during?: Record<number, () => Promise<unknown>> } = {}) {
  const { during = {}, ...options } = given
  const email = options.email ?? team.next()
  const waits: number[] = []
  const codes: string[] = []
  const done = deviceLogin({
    baseUrl: service.origin,
    email,
    deviceId: 'sdk-test',
    fetch: (request) => service.fetch(new URL(request.url).pathname, request),
    onCode: ({ userCode }) => void codes.push(userCode),
    async wait(seconds) {
      waits.push(seconds)
      service.clock.advance({ seconds })
      await during[waits.length]?.()
    },
    ...options,
  })
  return { email, waits, codes, done }
}

describe('deviceLogin', () => {
  it('shows the code, polls slower than required, and stores the tokens after the approval by email', async () => {
    const tokens = memoryTokenStore()
    const email = team.next()
    const { done, waits, codes } = login({ email, tokens, during: { 3: () => service.approveByMail(email) } })
    const granted = await done
    expect(granted).toMatchObject({ account: email, organization: 'acme', team: '@acme/core', deviceId: 'sdk-test' })
    expect(codes).toEqual([expect.stringMatching(/^[A-Z]{4}-[A-Z]{4}$/)])
    expect(waits).toEqual([6, 6, 6])
    const { organization: _, ...stored } = granted
    expect(await tokens.load()).toEqual(stored)
  })

  it.each(['save', 'exclusively'] as const)('ends the new session when %s of the token store fails', async (name) => {
    const email = team.next()
    const fail = () => Promise.reject(new Error('The disk is full.'))
    const tokens = { ...memoryTokenStore(), [name]: fail }
    const { done } = login({ email, tokens, during: { 1: () => service.approveByMail(email) } })
    await expect(done).rejects.toThrow('The disk is full.')
    const { accessToken } = await service.signIn(email, { deviceId: 'other' })
    const { devices } = await unwrap(service.clientOf(accessToken).GET('/v1/devices'))
    expect(devices.map(({ deviceId }) => deviceId)).not.toContain('sdk-test')
  })

  it('throws the error of the token store also when the new session cannot be ended', async () => {
    const email = team.next()
    const tokens = { ...memoryTokenStore(), save: () => Promise.reject(new Error('The disk is full.')) }
    const { done } = login({
      email,
      tokens,
      during: { 1: () => service.approveByMail(email) },
      fetch: async (request) => {
        const { pathname } = new URL(request.url)
        if (pathname.endsWith('/logout')) throw new TypeError('fetch failed')
        return service.fetch(pathname, request)
      },
    })
    await expect(done).rejects.toThrow('The disk is full.')
  })

  it.each([
    ['of another account', { email: team.next() }],
    ['of another device', { deviceId: 'sdk-test-2' }],
  ])('ends the session in the store that is %s', async (_, other) => {
    const tokens = memoryTokenStore()
    const email = team.next()
    await login({ email, tokens, during: { 1: () => service.approveByMail(email) } }).done
    const earlier = await tokens.load()
    const next = { email, ...other }
    await login({ ...next, tokens, during: { 1: () => service.approveByMail(next.email) } }).done
    expect(await tokens.load()).toMatchObject({ account: next.email })
    const { response } = await service.clientOf(earlier?.accessToken ?? '').GET('/device')
    expect(response.status).toBe(401)
  })

  it('replaces damaged tokens in the store', async () => {
    const email = team.next()
    const tokens = { ...memoryTokenStore(), load: () => Promise.reject(new Error('It has no tokens.')) }
    const { done } = login({ email, tokens, during: { 1: () => service.approveByMail(email) } })
    expect(await done).toMatchObject({ account: email })
  })

  it('rejects with access_denied when the person denies the login', async () => {
    const email = team.next()
    const deny = async () => {
      const denial = form({ token: mailTokenOf(service, email), action: 'deny' })
      const response = await service.fetch('/v1/auth/magic/consume', denial)
      if (!response.ok) throw new Error(`The denial failed: ${response.status} ${await response.text()}`)
    }
    const { done } = login({ email, during: { 1: deny } })
    await expect(done).rejects.toMatchObject({ name: 'NotAllowedError', code: 'access_denied', status: 403 })
  })

  it('rejects without polling when the address is not invited', async () => {
    const { done, waits } = login({ email: 'nobody@example.com' })
    await expect(done).rejects.toMatchObject({ code: 'not_invited', requestId: expect.stringMatching(/^req_/) })
    expect(waits).toEqual([])
  })

  it('rejects with expired when the login is not approved in time', async () => {
    const { done } = login({ during: { 2: async () => service.clock.advance({ seconds: 600 }) } })
    await expect(done).rejects.toMatchObject({ name: 'ExpiredError', code: 'expired' })
  })

  it.each(['while it waits', 'before it starts'])(
    'rejects with the reason of the signal that is aborted %s',
    async (when) => {
      const cancel = new AbortController()
      const onCode = () => cancel.abort(new Error('cancelled by the test'))
      if (when === 'before it starts') onCode()
      const { done } = login({ wait: undefined, signal: cancel.signal, onCode })
      await expect(done).rejects.toThrow('cancelled by the test')
    },
  )
})

describe('polling', () => {
  const started = {
    deviceCode: 'svcd_1',
    userCode: 'BCDF-GHJK',
    verificationUri: 'http://localhost/',
    intervalSeconds: 5,
    expiresAt: '2026-11-21T09:10:00Z',
  }
  const granted = { account: 'ada@example.com', accessToken: 'a', refreshToken: 'r' }
  const refusal = (status: number, code: string, headers: Record<string, string> = {}) =>
    Response.json({ type: 'error', error: { type: 'x', code, message: code } }, { status, headers })

  /** The waits of a login whose polls get these answers. */
  async function waitsOf(answers: (() => Response)[]): Promise<number[]> {
    const waits: number[] = []
    const queue = [() => Response.json(started, { status: 202 }), ...answers]
    await deviceLogin({
      baseUrl: 'http://svc.test',
      email: 'ada@example.com',
      deviceId: 'd',
      onCode: () => {},
      fetch: async () => (queue.shift() ?? (() => Response.json(granted)))(),
      wait: async (seconds) => void waits.push(seconds),
    })
    return waits
  }
  const failToConnect = () => {
    throw new TypeError('fetch failed')
  }

  it('waits as long as Retry-After says', async () => {
    expect(await waitsOf([() => refusal(429, 'rate_limited', { 'retry-after': '30' })])).toEqual([6, 36])
  })

  it('doubles the wait with each failure in a row, and returns to the interval after an answer', async () => {
    const pending = () => refusal(428, 'authorization_pending')
    expect(await waitsOf([failToConnect, () => refusal(503, 'service_unavailable'), pending])).toEqual([6, 12, 24, 6])
  })

  it('continues when the sign-in page of a network answers a poll', async () => {
    const page = () => new Response('<h1>Welcome</h1>', { headers: { 'content-type': 'text/html' } })
    expect(await waitsOf([page])).toEqual([6, 12])
  })

  it('gives up after six failures in a row', async () => {
    await expect(waitsOf(Array.from({ length: 9 }, () => failToConnect))).rejects.toThrow('fetch failed')
  })
})
