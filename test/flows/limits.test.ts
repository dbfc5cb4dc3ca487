import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import { Secret } from '../../src/kernel/secret.ts'
import { networkKey, rateLimits } from '../../src/http/rate-limit.ts'
import { addPasskey, bearer, newAuthenticator, signInWithPasskey } from '../support/passkeys.ts'
import { directoryOf, signInBrowser } from '../support/people.ts'
import { form, json, outcomeOf } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const start = (service: TestService, email: string, headers: Record<string, string> = {}) =>
  service.fetch('/v1/auth/device/start', json({ email, deviceId: 'laptop-1' }, headers))
const DIRECTORY = directoryOf(['ada@example.com', 'grace@example.com'])

describe('starts', () => {
  it('refuses a network that starts more than the setting allows, by either name of the route', async () => {
    await using service = await startService({ env: { SVC_LIMIT_STARTS_PER_IP: '3' } })
    for (let count = 0; count < 3; count++) expect((await start(service, 'ada@example.com')).status).toBe(202)
    const fourth = await start(service, 'ada@example.com')
    expect(await outcomeOf(fourth)).toBe('429 rate_limited')
    expect(Number(fourth.headers.get('retry-after'))).toBeGreaterThan(590)
    const alias = service.fetch('/v1/auth/login/start', json({ email: 'ada@example.com', deviceId: 'd' }))
    expect(await outcomeOf(await alias)).toBe('429 rate_limited')
  })

  it('is not fooled by an address in a header that no trusted proxy wrote', async () => {
    await using service = await startService({ env: { SVC_LIMIT_STARTS_PER_IP: '1' } })
    await start(service, 'ada@example.com')
    const again = await start(service, 'ada@example.com', { 'x-forwarded-for': '203.0.113.7' })
    expect(again.status).toBe(429)
  })

  it('counts the addresses that a trusted proxy names apart', async () => {
    await using service = await startService({ env: { SVC_LIMIT_STARTS_PER_IP: '1', SVC_TRUST_PROXY: 'loopback' } })
    const from = (address: string) => start(service, 'ada@example.com', { 'x-forwarded-for': address })
    expect((await from('203.0.113.7')).status).toBe(202)
    expect((await from('203.0.113.8')).status).toBe(202)
    expect((await from('203.0.113.7')).status).toBe(429)
  })

  it('refuses a network that asks for a third as many addresses that are not invited, and then every address', async () => {
    await using service = await startService({ env: { SVC_LIMIT_STARTS_PER_IP: '9' } })
    for (let count = 0; count < 3; count++)
      expect(await outcomeOf(await start(service, `nobody-${count}@example.com`))).toBe('403 not_invited')
    expect(await outcomeOf(await start(service, 'nobody-4@example.com'))).toBe('429 rate_limited')
    expect(await outcomeOf(await start(service, 'ada@example.com'))).toBe('429 rate_limited')
  })

  it('with 0 refuses nobody', async () => {
    await using service = await startService({ env: { SVC_LIMIT_STARTS_PER_IP: '0' } })
    for (let count = 0; count < 70; count++)
      expect(await outcomeOf(await start(service, 'nobody@example.com'))).toBe('403 not_invited')
  })
})

describe('mails', () => {
  it('sends one address five in ten minutes, from wherever they are asked for; the person can use a passkey', async () => {
    await using service = await startService({
      directory: DIRECTORY,
      env: { SVC_LIMIT_MAILS_PER_ADDRESS: '5', SVC_TRUST_PROXY: 'loopback' },
    })
    const authenticator = newAuthenticator()
    await addPasskey(service, bearer((await service.signIn('ada@example.com')).accessToken), authenticator)
    const outcomes: string[] = []
    for (let count = 0; count < 20; count++)
      outcomes.push(
        await outcomeOf(await start(service, 'ADA@example.com', { 'x-forwarded-for': `203.0.113.${count}` })),
      )
    expect(outcomes.filter((outcome) => outcome === '202')).toHaveLength(4)
    expect(outcomes.slice(4).every((outcome) => outcome === '429 rate_limited')).toBe(true)
    const approvals = service.mailbox.mails.filter(({ raw }) => raw.includes('Subject: Approve this sign-in'))
    expect(approvals).toHaveLength(5)
    expect((await signInWithPasskey(service, authenticator)).status).toBe(200)
    expect((await start(service, 'grace@example.com')).status).toBe(202)
  })
})

describe('user codes', () => {
  it('refuses after five wrong ones, the right one too, for that session; others go on', async () => {
    await using service = await startService({ directory: DIRECTORY, env: { SVC_LIMIT_USER_CODES: '5' } })
    const ada = await service.signIn('ada@example.com')
    const grace = await service.signIn('grace@example.com')
    const approve = (accessToken: string, userCode: string) =>
      service.clientOf(accessToken).POST('/device', { body: { userCode } })

    for (let count = 0; count < 5; count++)
      expect((await approve(ada.accessToken, 'BCDF-GHJK')).response.status).toBe(404)
    const sixth = await approve(ada.accessToken, 'BCDF-GHJK')
    expect(sixth.error?.error.code).toBe('rate_limited')
    expect(Number(sixth.response.headers.get('retry-after'))).toBeGreaterThan(590)
    const { userCode } = await service.startLogin('ada@example.com', { deviceId: 'second' })
    expect((await approve(ada.accessToken, userCode)).response.status).toBe(429)

    const theirs = await service.startLogin('grace@example.com', { deviceId: 'second' })
    expect((await approve(grace.accessToken, theirs.userCode)).response.status).toBe(200)
  })

  it('counts sessions of one account together, at twice the number', async () => {
    await using service = await startService({ env: { SVC_LIMIT_USER_CODES: '1' } })
    const sessions = [
      await service.signIn('ada@example.com', { deviceId: 'a' }),
      await service.signIn('ada@example.com', { deviceId: 'b' }),
      await service.signIn('ada@example.com', { deviceId: 'c' }),
    ]
    const statuses: number[] = []
    for (const { accessToken } of sessions) {
      const body = { userCode: 'BCDF-GHJK' }
      statuses.push((await service.clientOf(accessToken).POST('/device', { body })).response.status)
    }
    expect(statuses).toEqual([404, 404, 429])
  })

  it('tells a person on the page, with how long to wait', async () => {
    await using service = await startService({ env: { SVC_LIMIT_USER_CODES: '1' } })
    const cookie = await signInBrowser(service, 'ada@example.com')
    const post = () => service.fetch('/device', form({ action: 'find', userCode: 'BCDF-GHJK' }, { cookie }))
    await post()
    const response = await post()
    expect(response.status).toBe(429)
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(590)
    expect(await response.text()).toContain('Too many wrong codes')
  })
})

describe('with Redis', () => {
  it('counts in this process while Redis is away, and starts all the same', async () => {
    const url = `redis://127.0.0.1:${await closedPort()}`
    await using service = await startService({ env: { SVC_LIMIT_STARTS_PER_IP: '2', SVC_REDIS_URL: url } })
    const statuses: number[] = []
    for (let count = 0; count < 3; count++) statuses.push((await start(service, 'ada@example.com')).status)
    expect(statuses).toEqual([202, 202, 429])
    expect(service.log.filter(({ event }) => event === 'redis.disconnected')).toHaveLength(1)
    expect(service.config.redisUrl).toBeInstanceOf(Secret)
  })
})

describe('a limit', () => {
  it('tells keys and names apart', async () => {
    const open = rateLimits(null)
    const [one, other] = [open('one', { points: 1, seconds: 60 }), open('other', { points: 1, seconds: 60 })]
    await one.take('a')
    await one.take('b')
    await other.take('a')
    await expect(one.take('a')).rejects.toMatchObject({ code: 'rate_limited', retryAfterSeconds: 60 })
  })

  it.each([
    ['203.0.113.7', '203.0.113.7'],
    ['::ffff:203.0.113.7', '203.0.113.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
    ['2001:db8:1:2::9', '2001:db8:1:2'],
    ['2001:db8::9', '2001:db8:0:0'],
    ['::1', '0:0:0:0'],
  ])('counts %s as %s', (ip, key) => expect(networkKey(ip)).toBe(key))
})

async function closedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
