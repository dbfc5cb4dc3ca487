import { afterAll, beforeAll, expect, it } from 'vitest'
import { makeNotifier } from '../../src/control/mails/notify.ts'
import { makeAnnounceLimits } from '../../src/control/spending-limits/announce.ts'
import { openDatabase } from '../../src/database/open.ts'
import type { Secret } from '../../src/kernel/secret.ts'
import type { Mail } from '../../src/mail.ts'
import type { LimitAnswer } from '../../src/spending/answers.ts'
import { testClock } from '../support/clock.ts'
import { startPostgres, withoutStatementTimeout } from '../support/postgres.ts'
import type { TestPostgres } from '../support/postgres.ts'
import { bearerOf, expectJson, expectOk, json, outcomeOf, withMethod } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'
import { USD } from '../support/spending-limits.ts'
import { countWaiting } from '../support/table-lock.ts'
import { answersJson, startUpstream } from '../support/upstream.ts'
import type { TestUpstream } from '../support/upstream.ts'
import { waitForValue } from '../support/wait.ts'

const DIRECTORY = `
organizations:
  - name: acme
    teams:
      - name: core
        timeZone: Asia/Tokyo
        models: [vendora/large, vendora/free]
        members: [{ email: ada@example.com, role: admin }, { email: grace@example.com, role: admin }]
models:
  - { id: vendora/large, displayName: Large, owner: vendora, price: { input: 20, output: 0 } }
  - { id: vendora/free, displayName: Free, owner: vendora }
`

/** Each call has 4,000 bytes, and its answer says that these were 1,000 tokens: 0.02 USD. */
const CALL_USD = 0.02
const ANSWER = { id: 'c', object: 'chat.completion', choices: [], usage: { prompt_tokens: 1000, completion_tokens: 1 } }
const BODY = { model: 'vendora/large', messages: [{ role: 'user', content: '' }] }
const PADDING = 'x'.repeat(4000 - JSON.stringify(BODY).length)
const CALL = { ...BODY, messages: [{ role: 'user', content: PADDING }] }

let postgres: TestPostgres
let url: Secret
let upstream: TestUpstream
let first: TestService
let second: TestService
let ada: Record<string, string>

beforeAll(async () => {
  upstream = await startUpstream()
  postgres = await startPostgres()
  url = withoutStatementTimeout(await postgres.newDatabase())
  // Noon in Tokyo, so that no day ends while the test runs.
  const clock = testClock(new Date('2026-11-21T03:00:00Z'))
  const env = {
    SVC_VENDORA_UPSTREAM_URL: upstream.url.href,
    SVC_LIMIT_ACCOUNT_REQUESTS_PER_MINUTE: '0',
    SVC_LIMIT_ACCOUNT_STREAMS: '0',
  }
  const start = async () =>
    startService({ directory: DIRECTORY, clock, env, database: await openDatabase({ kind: 'postgres', url }) })
  first = await start()
  second = await start()
  ada = bearerOf((await first.signIn('ada@example.com')).accessToken)
}, 60_000)
afterAll(async () => {
  await first[Symbol.asyncDispose]()
  await second[Symbol.asyncDispose]()
  await upstream[Symbol.asyncDispose]()
  await postgres.stop()
})

const LIMITS = '/v1/teams/%40acme%2Fcore/limits'
const call = (service: TestService, body: object = CALL) =>
  fetch(`${service.origin}/v1/chat/completions`, json(body, ada))
const callMany = (service: TestService, count: number) =>
  Promise.all(Array.from({ length: count }, async () => outcomeOf(await call(service))))
const setAmount = (id: string, usd: number) =>
  expectOk('The change', first.fetch(`${LIMITS}/${id}`, withMethod('PATCH', ada, { amountNanoUsd: usd * USD })))
const countOf = (outcomes: readonly string[], outcome: string) => outcomes.filter((one) => one === outcome).length

const EXPECTED = new Set(['200', '429 rate_limited', '402 spending_limit_reached'])

/** Answers calls only when all that were let through have arrived, so that they run at the same time. */
async function holdAnswers<T>(calls: number, send: () => Promise<T>): Promise<T> {
  const answers: (() => void)[] = []
  upstream.restart((seen) => void answers.push(() => void answersJson(ANSWER)(seen)))
  const sent = send()
  await waitForValue('all calls at the upstream', () => answers.length, calls)
  upstream.restart(answersJson(ANSWER))
  answers.forEach((answer) => answer())
  return sent
}

async function findLimit(id: string): Promise<LimitAnswer> {
  return expectJson<LimitAnswer>('The limit', first.fetch(`${LIMITS}/${id}`, { headers: ada }))
}

it('200 parallel callers do not exceed a limit of 1 USD, and two gateways stay within the stated bound', async () => {
  const body = { subject: 'team', period: 'day', amountNanoUsd: USD }
  const { id, resetsAt } = await expectJson<LimitAnswer>('The limit', first.fetch(LIMITS, json(body, ada)))
  expect(resetsAt).toBe('2026-11-21T15:00:00.000Z')

  await waitForAmount(1)
  const outcomes = await holdAnswers(50, () => callMany(first, 200))
  expect(countOf(outcomes, '200')).toBe(50)
  expect(outcomes.filter((outcome) => !EXPECTED.has(outcome))).toEqual([])
  expect(await outcomeOf(await call(first))).toBe('402 spending_limit_reached')
  await waitForSpent(1)
  expect(await outcomeOf(await call(second))).toBe('402 spending_limit_reached')
  expect((await findLimit(id)).spentNanoUsd).toBe(50 * CALL_USD * USD)

  // Each gateway sees that 1 USD is left, and neither sees the running calls of the other one.
  await setAmount(id, 2)
  await waitForAmount(2)
  const both = await holdAnswers(100, () => Promise.all([callMany(first, 100), callMany(second, 100)]))
  expect(countOf(both.flat(), '200')).toBe(100)
  await waitForSpent(3)
  for (const service of [first, second]) expect(await outcomeOf(await call(service))).toBe('402 spending_limit_reached')
  expect((await findLimit(id)).spentNanoUsd).toBe(3 * USD)
}, 60_000)

/** Waits until both gateways know the limit with this amount. */
async function waitForAmount(usd: number): Promise<void> {
  for (const service of [first, second])
    await waitForValue('the limit', async () => (await ownLimit(service))?.amountNanoUsd, usd * USD)
}

/** Waits until both gateways know that this was spent. */
async function waitForSpent(usd: number): Promise<void> {
  for (const service of [first, second])
    await waitForValue('what was spent', async () => (await ownLimit(service))?.spentNanoUsd, usd * USD)
}

async function ownLimit(service: TestService): Promise<LimitAnswer | undefined> {
  const { limits } = await expectJson<{ limits: LimitAnswer[] }>(
    'Limits',
    service.fetch('/v1/limits', { headers: ada }),
  )
  return limits[0]
}

it('a model without a price is served when the limit is used up, also as a stream that begins', async () => {
  expect((await call(first, { ...CALL, model: 'vendora/free' })).status).toBe(200)
  expect(await outcomeOf(await call(first, { ...CALL, stream: true }))).toBe('402 spending_limit_reached')
  await waitForValue('the call in the answer', async () => (await ownLimit(first))?.unpricedCalls, 1)
})

it('admins get one email for a limit that is used up, whatever the number of processes', async () => {
  const sent: Mail[] = []
  const mailer = { send: async (mail: Mail) => void sent.push(mail), close: () => undefined }
  const { clock } = first
  const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
  const notify = makeNotifier({ mailer, baseUrl: 'http://localhost:8787', commandUrl: null, log })
  const announcers = [first, second, first, second].map(({ database }) =>
    makeAnnounceLimits({ database, notify, clock, log }),
  )
  await Promise.all(announcers.map((announce) => announce()))
  await announcers[0]?.()
  await notify.settled()
  expect(sent.map(({ to, subject }) => [to, subject]).toSorted()).toEqual([
    ['ada@example.com', 'A spending limit is used up: @acme/core'],
    ['grace@example.com', 'A spending limit is used up: @acme/core'],
  ])
  expect(sent[0]?.text).toContain('limit of 2.00 USD a day for the team @acme/core')
  expect(sent[0]?.text).toContain('22 Nov 2026, 00:00 (Asia/Tokyo)')
})

it('a limit that is changed while it is removed ends in the audit log with its last amount', async () => {
  const made = first.fetch(LIMITS, json({ subject: 'members', period: 'month', amountNanoUsd: USD }, ada))
  const { id } = await expectJson<LimitAnswer>('The limit', made)
  const { removed } = await first.database.prisma.$transaction(async (tx) => {
    // As every change by an admin does.
    await tx.$queryRaw`SELECT id FROM teams WHERE name = 'core' FOR NO KEY UPDATE`
    await tx.spendingLimit.update({ where: { id }, data: { amountNanoUsd: 2 * USD } })
    const removed = second.fetch(`${LIMITS}/${id}`, { method: 'DELETE', headers: ada })
    // The database ends a transaction after ten seconds without a statement.
    await waitForValue('the removal to wait', () => countWaiting(first.database), 1, { timeoutMs: 9000 })
    return { removed }
  })
  await expectOk('The removal', removed)
  const events = await first.database.prisma.auditEvent.findMany({ where: { subjectId: id }, orderBy: { id: 'asc' } })
  const amountOf = (details: unknown) => (details as { amountNanoUsd: number }).amountNanoUsd
  expect(events.map(({ kind, details }) => [kind, amountOf(details)])).toEqual([
    ['spending_limit.created', USD],
    ['spending_limit.removed', 2 * USD],
  ])
})
