import { Redis } from 'ioredis'
import { describe, expect, it, vi } from 'vitest'
import { Secret } from '../../src/kernel/secret.ts'
import { openRateLimits } from '../../src/http/rate-limit.ts'
import { openRedis } from '../../src/server/redis.ts'
import { freePort, lookUpAs } from '../support/loopback.ts'
import { addPasskey, newAuthenticator, signInWithPasskey } from '../support/passkeys.ts'
import { APPROVAL_SUBJECT } from '../support/mailbox.ts'
import { directoryOf, signInBrowser } from '../support/people.ts'
import { bearerOf, form, json, outcomeOf } from '../support/requests.ts'
import { startTcpProxy } from '../support/network/tcp-proxy.ts'
import { recordingLog } from '../support/recording-log.ts'
import type { LogLine } from '../support/recording-log.ts'
import { hasRedis, startRedis, waitForRedis } from '../support/redis.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'
import { waitForValue } from '../support/wait.ts'

const start = (service: TestService, email: string, headers: Record<string, string> = {}) =>
  service.fetch('/v1/auth/device/start', json({ email, deviceId: 'laptop-1' }, headers))
const DIRECTORY = directoryOf(['ada@example.com', 'grace@example.com'])
/** The header of a proxy that names an address in one IPv6 network, whose addresses count together. */
const inNetwork = (address: number) => ({ 'x-forwarded-for': `2001:db8::${address}` })

describe('SVC_LIMIT_STARTS_PER_IP', () => {
  it('refuses a network that starts more logins than allowed, on both routes', async () => {
    await using service = await startService({ env: { SVC_LIMIT_STARTS_PER_IP: '3' } })
    for (let count = 0; count < 3; count++) expect((await start(service, 'ada@example.com')).status).toBe(202)
    const fourth = await start(service, 'ada@example.com')
    expect(await outcomeOf(fourth)).toBe('429 rate_limited')
    expect(Number(fourth.headers.get('retry-after'))).toBeGreaterThan(590)
    const alias = service.fetch('/v1/auth/login/start', json({ email: 'ada@example.com', deviceId: 'd' }))
    expect(await outcomeOf(await alias)).toBe('429 rate_limited')
  })

  it('ignores X-Forwarded-For without a trusted proxy', async () => {
    await using service = await startService({ env: { SVC_LIMIT_STARTS_PER_IP: '1' } })
    expect((await start(service, 'ada@example.com')).status).toBe(202)
    const again = await start(service, 'ada@example.com', { 'x-forwarded-for': '203.0.113.7' })
    expect(again.status).toBe(429)
  })

  it('counts each address that a trusted proxy names separately', async () => {
    await using service = await startService({ env: { SVC_LIMIT_STARTS_PER_IP: '1', SVC_TRUST_PROXY: 'loopback' } })
    const from = (address: string) => start(service, 'ada@example.com', { 'x-forwarded-for': address })
    expect((await from('203.0.113.7')).status).toBe(202)
    expect((await from('203.0.113.8')).status).toBe(202)
    expect((await from('203.0.113.7')).status).toBe(429)
  })

  it('ignores the ports that a trusted proxy names', async () => {
    await using service = await startService({ env: { SVC_LIMIT_STARTS_PER_IP: '1', SVC_TRUST_PROXY: 'loopback' } })
    const from = (address: string) => start(service, 'ada@example.com', { 'x-forwarded-for': address })
    expect((await from('203.0.113.7:50001')).status).toBe(202)
    expect((await from('203.0.113.7:50002')).status).toBe(429)
    expect((await from('[2001:db8::1]:50001')).status).toBe(202)
    expect((await from('[2001:db8::2]:50002')).status).toBe(429)
  })

  it('shows no text of X-Forwarded-For in emails', async () => {
    await using service = await startService({ env: { SVC_TRUST_PROXY: 'loopback' } })
    await start(service, 'ada@example.com', { 'x-forwarded-for': 'Your bank calls you' })
    expect(service.mailbox.newest('ada@example.com').text).not.toContain('bank')
  })

  it('refuses a network after a third as many starts for addresses that are not invited', async () => {
    await using service = await startService({ env: { SVC_LIMIT_STARTS_PER_IP: '9', SVC_TRUST_PROXY: 'loopback' } })
    let addresses = 0
    const outcomeFor = async (email: string) => outcomeOf(await start(service, email, inNetwork(++addresses)))
    for (let count = 0; count < 3; count++)
      expect(await outcomeFor(`not-invited-${count}@example.com`)).toBe('403 not_invited')
    expect(await outcomeFor('not-invited-4@example.com')).toBe('429 rate_limited')
    expect(await outcomeFor('ada@example.com')).toBe('429 rate_limited')
  })

  it('of 0 means no limit', async () => {
    await using service = await startService({ env: { SVC_LIMIT_STARTS_PER_IP: '0' } })
    for (let count = 0; count < 70; count++)
      expect(await outcomeOf(await start(service, 'not-invited@example.com'))).toBe('403 not_invited')
  })
})

describe('SVC_LIMIT_MAILS_PER_ADDRESS', () => {
  it('sends one address five emails in ten minutes from all networks, and leaves passkeys working', async () => {
    await using service = await startService({
      directory: DIRECTORY,
      env: { SVC_LIMIT_MAILS_PER_ADDRESS: '5', SVC_TRUST_PROXY: 'loopback' },
    })
    const authenticator = newAuthenticator()
    await addPasskey(service, bearerOf((await service.signIn('ada@example.com')).accessToken), authenticator)
    const outcomes: string[] = []
    for (let count = 0; count < 20; count++)
      outcomes.push(
        await outcomeOf(await start(service, 'ADA@example.com', { 'x-forwarded-for': `203.0.113.${count}` })),
      )
    expect(outcomes.filter((outcome) => outcome === '202')).toHaveLength(4)
    expect(outcomes.slice(4).every((outcome) => outcome === '429 rate_limited')).toBe(true)
    const approvals = service.mailbox.mails.filter(({ subject }) => subject.startsWith(APPROVAL_SUBJECT))
    expect(approvals).toHaveLength(5)
    expect((await signInWithPasskey(service, authenticator)).status).toBe(200)
    expect((await start(service, 'grace@example.com')).status).toBe(202)
  })
})

describe('SVC_LIMIT_USER_CODES', () => {
  it('refuses all codes of a session after five wrong ones, and no codes of others', async () => {
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

  it('counts the sessions of one account together, with twice the limit', async () => {
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

  it('counts the accounts of one network together, with six times the limit', async () => {
    const emails = Array.from({ length: 7 }, (_, index) => `person-${index}@example.com`)
    await using service = await startService({
      directory: directoryOf(emails),
      env: { SVC_LIMIT_USER_CODES: '1', SVC_TRUST_PROXY: 'loopback' },
    })
    const statuses: number[] = []
    for (const [index, email] of emails.entries()) {
      const headers = { ...bearerOf((await service.signIn(email)).accessToken), ...inNetwork(index) }
      statuses.push((await service.fetch('/device', json({ userCode: 'BCDF-GHJK' }, headers))).status)
    }
    expect(statuses).toEqual([404, 404, 404, 404, 404, 404, 429])
  })

  it('shows a page with Retry-After to a person', async () => {
    await using service = await startService({ env: { SVC_LIMIT_USER_CODES: '1' } })
    const cookie = await signInBrowser(service, 'ada@example.com')
    const post = () => service.fetch('/device', form({ action: 'find', userCode: 'BCDF-GHJK' }, { cookie }))
    expect((await post()).status).toBe(404)
    const response = await post()
    expect(response.status).toBe(429)
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(590)
    expect(await response.text()).toContain('Too many wrong codes')
  })
})

describe.skipIf(!hasRedis)('limits with a Redis that freezes', () => {
  it('count in this process while it does not answer, without asking it, and use it again afterwards', async () => {
    await using redis = await startRedis()
    await using service = await startService({ env: { SVC_LIMIT_STARTS_PER_IP: '1000', SVC_REDIS_URL: redis.url } })
    const isUnavailable = () =>
      service.log.findLast(({ event }) => event.startsWith('redis.'))?.event !== 'redis.connected'
    await waitForValue('Redis to be connected', isUnavailable, false)
    expect((await start(service, 'ada@example.com')).status).toBe(202)
    redis.freeze()
    expect((await start(service, 'ada@example.com')).status).toBe(202)
    await waitForValue('Redis to be unavailable', isUnavailable, true)
    for (let count = 0; count < 20; count++) expect((await start(service, 'ada@example.com')).status).toBe(202)
    // While it is unavailable, commands fail at once. Otherwise each start would wait twice for a command that is not answered.
    expect(isUnavailable()).toBe(true)
    redis.thaw()
    await waitForValue('Redis to be connected again', isUnavailable, false)
  })
})

describe.skipIf(!hasRedis)('limits with a Redis that refuses writes', () => {
  /** Counts in the server of an address that first leads to one of two servers. */
  async function connectTo(port: number) {
    const ports = [port]
    const proxy = await startTcpProxy(ports)
    const lines: LogLine[] = []
    const waiting = waitForRedis()
    const redis = openRedis(new Secret(`redis://127.0.0.1:${proxy.port}`), recordingLog(lines))
    await waitForValue('Redis to be connected', () => redis.status, 'ready')
    const limit = openRateLimits(redis)('events', { points: 1000, seconds: 60 })
    return {
      limit,
      lines,
      leadTo: (next: number) => void (ports[0] = next),
      async [Symbol.asyncDispose]() {
        redis.disconnect()
        waiting[Symbol.dispose]()
        await proxy[Symbol.asyncDispose]()
      },
    }
  }

  it('count in the server that took its place after a failover', async () => {
    await using before = await startRedis()
    await using after = await startRedis()
    await using connected = await connectTo(before.port)
    using admin = disposable(new Redis(before.port))
    using successor = disposable(new Redis(after.port))
    await connected.limit.take('a')
    // No server is there, because a replica writes what it copies to the working directory.
    await admin.replicaof('127.0.0.1', 1)
    connected.leadTo(after.port)
    const countOnce = async () => {
      await connected.limit.take('b')
      return successor.exists('svc:limit:events:b')
    }
    await waitForValue('the successor to count', countOnce, 1)
    expect(connected.lines).toContainEqual(expect.objectContaining({ level: 'warn', event: 'redis.refused' }))
  })

  it('count in this process while its memory is full, and the log says so once', async () => {
    await using server = await startRedis()
    await using connected = await connectTo(server.port)
    using admin = disposable(new Redis(server.port))
    await admin.config('SET', 'maxmemory', '1')
    await connected.limit.take('a')
    await connected.limit.take('a')
    const reason = expect.stringContaining('OOM') as string
    expect(connected.lines.slice(1)).toEqual([{ level: 'warn', event: 'redis.refused', fields: { reason } }])
    await admin.config('SET', 'maxmemory', '0')
    await connected.limit.take('a')
    expect(await admin.get('svc:limit:events:a')).toBe('1')
  })
})

describe.skipIf(!hasRedis)('limits with a Redis whose clock is set back', () => {
  it('begin a new window, instead of one that lasts for longer by as much', async () => {
    using _ = waitForRedis()
    await using server = await startRedis()
    using redis = disposable(openRedis(new Secret(server.url), recordingLog([])))
    await waitForValue('Redis to be connected', () => redis.status, 'ready')
    const limit = openRateLimits(redis)('events', { points: 1, seconds: 60 })
    await limit.take('a')
    expect(await limit.tryTake('a')).toBeGreaterThan(0)
    // What is left of a window when the clock is set back an hour.
    await redis.pexpire('svc:limit:events:a', 3_650_000)
    expect(await limit.tryTake('a')).toBe(0)
    expect(await limit.tryTake('a')).toBeGreaterThan(0)
  })
})

describe.skipIf(!hasRedis)('limits with a Redis that refuses the connection', () => {
  it('count in this process when Redis has no database of the number, and leave database 0 alone', async () => {
    await using server = await startRedis()
    const lines: LogLine[] = []
    using redis = disposable(openRedis(new Secret(`${server.url}/99`), recordingLog(lines)))
    await waitForValue('the refusal to be logged', () => lines.length, 1)
    await openRateLimits(redis)('events', { points: 1, seconds: 60 }).take('a')
    expect(lines).toMatchObject([{ event: 'redis.disconnected', fields: { reason: 'ERR DB index is out of range' } }])
    using admin = disposable(new Redis(server.port))
    expect(await admin.dbsize()).toBe(0)
  })

  it('say so once when the password is changed while the service runs', async () => {
    await using server = await startRedis()
    const lines: LogLine[] = []
    using redis = disposable(openRedis(new Secret(server.url), recordingLog(lines)))
    await waitForValue('Redis to be connected', () => redis.status, 'ready')
    using admin = disposable(new Redis(server.port))
    await admin.config('SET', 'requirepass', 'changed')
    await admin.call('CLIENT', 'KILL', 'TYPE', 'normal')
    const refusals = () => lines.filter(({ fields }) => JSON.stringify(fields).includes('NOAUTH'))
    await waitForValue('the refusal to be logged', () => refusals().length, 1)
    let attempts = 0
    redis.on('reconnecting', () => (attempts += 1))
    await waitForValue('two more attempts', () => attempts >= 2, true)
    expect(refusals()).toMatchObject([{ level: 'warn', event: 'redis.disconnected' }])
  })
})

function disposable(redis: Redis): Redis & Disposable {
  return Object.assign(redis, { [Symbol.dispose]: () => redis.disconnect() })
}

describe('limits with Redis', () => {
  it('count in this process while Redis cannot be reached', async () => {
    const url = `redis://127.0.0.1:${await freePort()}`
    await using service = await startService({ env: { SVC_LIMIT_STARTS_PER_IP: '2', SVC_REDIS_URL: url } })
    const statuses: number[] = []
    for (let count = 0; count < 3; count++) statuses.push((await start(service, 'ada@example.com')).status)
    expect(statuses).toEqual([202, 202, 429])
    expect(service.log.filter(({ event }) => event === 'redis.disconnected')).toHaveLength(1)
    expect(service.config.redisUrl).toBeInstanceOf(Secret)
  })

  it('say why Redis cannot be reached at several addresses', async () => {
    lookUpAs('127.0.0.1', '::1')
    const url = `redis://localhost:${await freePort()}`
    await using service = await startService({ env: { SVC_REDIS_URL: url } })
    vi.restoreAllMocks()
    await start(service, 'ada@example.com')
    const lines = service.log.filter(({ event }) => event === 'redis.disconnected')
    expect(lines).toMatchObject([{ fields: { reason: 'ECONNREFUSED' } }])
  })
})
