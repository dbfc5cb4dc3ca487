import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { countNewDeviceMails } from '../support/notices.ts'
import { mailTokenOf, people } from '../support/people.ts'
import { REPLICA_SETS } from '../support/replicas.ts'
import type { Replicas } from '../support/replicas.ts'
import { atOnce, bearerOf, expectOk, tally } from '../support/requests.ts'
import type { TestService } from '../support/service.ts'

/** As many as two processes have connections to Postgres, so that no request waits for one on a busy machine. */
const TIMES = 20

describe.each(REPLICA_SETS)('concurrent requests to %s', (_, start) => {
  const persons = people()
  let replicas: Replicas
  let first: TestService

  beforeAll(async () => {
    replicas = await start(persons.directory)
    first = replicas.first
  })
  afterAll(() => replicas[Symbol.asyncDispose]())

  const post: Replicas['post'] = (...request) => replicas.post(...request)
  const outcome: Replicas['outcomeOfPost'] = (...request) => replicas.outcomeOfPost(...request)
  const bodyOf = async <T>(response: Response) => (await response.json()) as T
  const prisma = () => first.database.prisma

  async function started(email = persons.next(), deviceId = 'laptop-1') {
    const login = await first.startLogin(email, { deviceId })
    return { ...login, email, token: mailTokenOf(first, email) }
  }
  async function approved() {
    const login = await started()
    await expectOk('The approval', post(0, '/v1/auth/magic/consume', { token: login.token }))
    return login
  }
  const sessionsOf = (email: string) =>
    prisma().deviceSession.findMany({ where: { invitation: { account: { email } } } })
  const loginOf = (email: string) => prisma().deviceLogin.findFirst({ where: { invitation: { account: { email } } } })

  it('approve once and sign one browser in when a link is consumed twenty times', async () => {
    const { token, email } = await started()
    const outcomes = await atOnce(TIMES, (index) => outcome(index, '/v1/auth/magic/consume', { token }))
    expect(tally(outcomes)).toEqual({ '200': 1, '401 unauthorized': TIMES - 1 })
    expect(await prisma().browserSession.count({ where: { invitation: { account: { email } } } })).toBe(1)
  })

  it('approve a login by link and by code, and keep the first approval', async () => {
    const email = persons.next()
    const { accessToken } = await first.signIn(email, { deviceId: 'other' })
    const { token, userCode, deviceCode } = await started(email)
    const headers = bearerOf(accessToken)
    const outcomes = await atOnce(20, (index) =>
      index % 2
        ? outcome(index, '/device', { userCode }, headers)
        : outcome(index, '/v1/auth/magic/consume', { token }),
    )
    const counted = tally(outcomes)
    expect(counted['200'] ?? 0).toBeGreaterThanOrEqual(10)
    expect((counted['200'] ?? 0) + (counted['401 unauthorized'] ?? 0)).toBe(20)

    const events = await prisma().auditEvent.findMany({
      where: { kind: 'device_login.approved' },
      orderBy: { id: 'asc' },
    })
    const login = await prisma().deviceLogin.findFirst({ orderBy: { createdAt: 'desc' } })
    const firstEvent = events.find(({ subjectId }) => subjectId === login?.id)
    expect(login?.approvedVia).toBe((firstEvent?.details as { via: string }).via)
    expect(await outcome(1, '/v1/auth/device/poll', { deviceCode })).toBe('200')
  })

  it('either approve or deny a login, and keep the first decision', async () => {
    const email = persons.next()
    const { accessToken } = await first.signIn(email, { deviceId: 'other' })
    const { userCode, deviceCode } = await started(email)
    const headers = bearerOf(accessToken)
    const outcomes = await atOnce(TIMES, async (index) => {
      const action = index % 2 ? 'approve' : 'deny'
      return `${action} ${await outcome(index >> 1, '/device', { userCode, action }, headers)}`
    })
    const winner = outcomes.find((one) => one.endsWith('200'))?.split(' ')[0]
    const loser = winner === 'approve' ? 'deny' : 'approve'
    expect(tally(outcomes)).toEqual({ [`${winner} 200`]: TIMES / 2, [`${loser} 409 conflict`]: TIMES / 2 })

    const final = winner === 'approve' ? '200' : '403 access_denied'
    expect(await outcome(0, '/v1/auth/device/poll', { deviceCode })).toBe(final)
    expect(await outcome(1, '/v1/auth/device/poll', { deviceCode })).toBe(final)
  })

  it('open one session with one refresh token and one email when an approved login is polled twenty times', async () => {
    const { deviceCode, email } = await approved()
    const answers = await atOnce(TIMES, (index) => post(index, '/v1/auth/device/poll', { deviceCode }))
    expect(tally(answers.map(({ status }) => String(status)))).toEqual({ '200': TIMES })
    const tokens = await Promise.all(answers.map((answer) => bodyOf<{ refreshToken: string }>(answer)))
    expect(new Set(tokens.map(({ refreshToken }) => refreshToken)).size).toBe(1)
    expect(await sessionsOf(email)).toHaveLength(1)
    expect(await countNewDeviceMails(replicas.services, email)).toBe(1)
  })

  it('answer one of twenty polls of a pending login and limit the others', async () => {
    const { deviceCode } = await started()
    const outcomes = await atOnce(TIMES, (index) => outcome(index, '/v1/auth/device/poll', { deviceCode }))
    expect(tally(outcomes)).toEqual({ '428 authorization_pending': 1, '429 rate_limited': TIMES - 1 })

    first.clock.advance({ seconds: 60 })
    const later = await atOnce(TIMES, (index) => post(index, '/v1/auth/device/poll', { deviceCode }))
    const waits = later.map(({ status, headers }) => `${status} ${headers.get('retry-after')}`)
    expect(tally(waits)).toEqual({ '428 null': 1, '429 5': TIMES - 1 })
  })

  it('make one successor when a refresh token is used twenty times', async () => {
    const email = persons.next()
    const { refreshToken } = await first.signIn(email)
    const body = { account: email, refreshToken }
    const answers = await atOnce(TIMES, (index) => post(index, '/v1/auth/token/refresh', body))
    expect(tally(answers.map(({ status }) => String(status)))).toEqual({ '200': TIMES })
    const tokens = await Promise.all(answers.map((answer) => bodyOf<{ refreshToken: string }>(answer)))
    expect(new Set(tokens.map((pair) => pair.refreshToken)).size).toBe(1)
    expect((await sessionsOf(email))[0]?.generation).toBe(1)
  })

  it('end all tokens of refreshes that race with a sign-out', async () => {
    const email = persons.next()
    const { refreshToken, accessToken } = await first.signIn(email)
    const headers = bearerOf(accessToken)
    const refreshed: { accessToken: string; refreshToken: string }[] = []
    await atOnce(TIMES, async (index) => {
      if (index === TIMES / 2) return void (await post(0, '/v1/auth/logout', {}, headers))
      const answer = await post(index, '/v1/auth/token/refresh', { account: email, refreshToken })
      expect([200, 401]).toContain(answer.status)
      if (answer.ok) refreshed.push(await bodyOf(answer))
    })
    const newest = refreshed.at(-1) ?? { accessToken, refreshToken }
    for (const token of [refreshToken, newest.refreshToken])
      expect(await outcome(1, '/v1/auth/token/refresh', { account: email, refreshToken: token })).toBe(
        '401 unauthorized',
      )
    for (const service of replicas.services)
      for (const path of ['/device', '/v1/models'] as const)
        expect((await service.clientOf(newest.accessToken).GET(path)).response.status, path).toBe(401)
  })

  it('leave no session when a withdrawal races with polls', async () => {
    const email = persons.next()
    const { deviceCode } = await started(email)
    await first.approveByMail(email)
    const others = persons.directory.replace(`{ email: '${email}' }, `, '')
    const refreshTokens: string[] = []
    await atOnce(TIMES, async (index) => {
      if (index === 5) return first.applyDirectory(others)
      const answer = await post(index, '/v1/auth/device/poll', { deviceCode })
      // 503: on a busy machine, a poll can wait too long for the withdrawal.
      expect([200, 401, 403, 503]).toContain(answer.status)
      if (answer.ok) refreshTokens.push((await bodyOf<{ refreshToken: string }>(answer)).refreshToken)
    })
    expect((await sessionsOf(email)).filter(({ revokedAt }) => revokedAt === null)).toEqual([])
    for (const refreshToken of new Set(refreshTokens))
      expect(await outcome(1, '/v1/auth/token/refresh', { account: email, refreshToken })).toBe('401 unauthorized')
    expect(await outcome(0, '/v1/auth/device/poll', { deviceCode })).toBe('403 not_invited')
    await first.applyDirectory(persons.directory)
  })

  it('answer twelve starts of one device with distinct codes, and the next start leaves ten pending', async () => {
    const email = persons.next()
    // Those of a wave wait for each other in the database, and a statement that waits for more than 1.3 s is refused.
    const [WAVES, STARTS] = [3, 4]
    const answers: Response[] = []
    for (let wave = 0; wave < WAVES; wave++) {
      const start = (index: number) => post(index, '/v1/auth/device/start', { email, deviceId: 'laptop-1' })
      answers.push(...(await atOnce(STARTS, start)))
    }
    expect(tally(answers.map(({ status }) => String(status)))).toEqual({ '202': WAVES * STARTS })
    const started = await Promise.all(answers.map((answer) => bodyOf<{ deviceCode: string; userCode: string }>(answer)))
    expect(new Set(started.map(({ deviceCode }) => deviceCode)).size).toBe(WAVES * STARTS)
    expect(new Set(started.map(({ userCode }) => userCode)).size).toBe(WAVES * STARTS)
    const countPending = () =>
      prisma().deviceLogin.count({ where: { status: 'pending', invitation: { account: { email } } } })
    // Starts at the same time do not see each other, so they may leave more than ten.
    expect(await countPending()).toBeGreaterThanOrEqual(10)
    await expectOk('The next start', post(0, '/v1/auth/device/start', { email, deviceId: 'laptop-1' }))
    expect(await countPending()).toBe(10)
    const newest = await first.signIn(email)
    expect(newest.account).toBe(email)
  })

  it('keep one session of two approved logins of one device', async () => {
    const email = persons.next()
    const [older, newer] = [await started(email), await started(email)]
    for (const { token } of [older, newer]) await expectOk('The approval', post(0, '/v1/auth/magic/consume', { token }))
    const polled = await atOnce(2, async (index) => {
      const { deviceCode } = index ? newer : older
      const answer = await post(index, '/v1/auth/device/poll', { deviceCode })
      return { deviceCode, status: answer.status, body: await bodyOf<{ refreshToken: string }>(answer) }
    })
    expect(polled.map(({ status }) => status)).toEqual([200, 200])
    const active = (await sessionsOf(email)).filter(({ revokedAt }) => revokedAt === null)
    expect(active).toHaveLength(1)
    const outcomes = await Promise.all(
      polled.map(({ body }) =>
        outcome(1, '/v1/auth/token/refresh', { account: email, refreshToken: body.refreshToken }),
      ),
    )
    expect(outcomes.sort()).toEqual(['200', '401 unauthorized'])
  })

  it('poll and consume the link of a login that was approved by code without errors', async () => {
    const email = persons.next()
    const { accessToken } = await first.signIn(email, { deviceId: 'other' })
    const logins = await Promise.all([1, 2, 3, 4].map((number) => started(email, `device-${number}`)))
    const tokens = first.mailbox.mails.filter(({ to }) => to.includes(email)).slice(-4)
    const headers = bearerOf(accessToken)
    for (const { userCode } of logins) await expectOk('The approval', post(0, '/device', { userCode }, headers))
    const links = tokens.map(({ text }) => /token=([\w-]+)/.exec(text)?.[1] ?? '')
    const outcomes = await atOnce(24, (index) => {
      const nth = index % 4
      return index % 2
        ? outcome(index, '/v1/auth/magic/consume', { token: links[nth] })
        : outcome(index, '/v1/auth/device/poll', { deviceCode: logins[nth]?.deviceCode })
    })
    expect(Object.keys(tally(outcomes)).sort()).toEqual(['200', '401 unauthorized'])
    expect(await loginOf(email)).not.toBeNull()
  })
})
