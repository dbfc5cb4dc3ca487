/** The statements of docs/data.md, run as an operator would, and what `svc export` shows and `svc erase` leaves of a person. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { TransactionClient } from '../../generated/prisma/internal/prismaNamespace.ts'
import { eraseAccount } from '../../src/control/stored-person/erase.ts'
import { exportAccount } from '../../src/control/stored-person/export.ts'
import { addSeconds } from '../../src/kernel/clock.ts'
import { unwrap } from '../../src/sdk/index.ts'
import type { CreateSpendingLimit } from '../../src/sdk/index.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'
import { expectJson, form } from '../support/requests.ts'
import { blocksOf, readPage } from '../support/source/documents.ts'
import { requestSignInLink } from '../support/sign-in-links.ts'
import { spend } from '../support/spending.ts'

const ADA = 'ada@example.com'
const BOB = 'bob@example.com'
const DIRECTORY = `
organizations:
  - name: acme
    teams: [{ name: core, members: [{ email: ${ADA}, role: admin }, { email: ${BOB} }] }]`

type Row = Readonly<Record<string, unknown>>

let service: TestService
let bob: string

beforeAll(async () => {
  service = await startService({ directory: DIRECTORY })
  const { prisma } = service.database
  const { accessToken } = await service.signIn(BOB, { deviceId: 'laptop-of-bob', deviceName: 'bob’s laptop' })
  bob = (await prisma.account.findUniqueOrThrow({ where: { email: BOB } })).id
  const key = await unwrap(service.clientOf(accessToken).POST('/v1/keys', { body: { name: 'bob’s key' } }))
  const admin = service.clientOf((await service.signIn(ADA)).accessToken)
  const setLimit = (limit: Pick<CreateSpendingLimit, 'subject' | 'of'>) =>
    admin.POST('/v1/teams/{team}/limits', {
      params: { path: { team: '@acme/core' } },
      body: { ...limit, period: 'day', amountNanoUsd: 5e9 },
    })
  await unwrap(setLimit({ subject: 'member', of: BOB }))
  await unwrap(setLimit({ subject: 'key', of: key.info.id }))
  const old = await unwrap(service.clientOf(accessToken).POST('/v1/keys', { body: { name: 'bob’s old key' } }))
  await unwrap(setLimit({ subject: 'key', of: old.info.id }))
  // As housekeeping does, some time after the key has expired.
  await prisma.apiKey.delete({ where: { id: old.info.id } })
  await prisma.auditEvent.create({
    data: { kind: 'passkey.renamed', at: service.clock.now(), accountId: bob, details: { name: 'bob’s phone' } },
  })
  await requestSignInLink(service, BOB)
  const started = service.fetch('/oauth/device_authorization', form({ client_id: 'tool' }))
  const { user_code: userCode } = await expectJson<{ user_code: string }>('The start of a login', started)
  await unwrap(service.clientOf(accessToken).POST('/device', { body: { userCode } }))
  await spend(service, 1.5e9, { accountId: bob, call: { requestId: 'req_1', sessionId: 'run-1' } })
})
afterAll(() => service[Symbol.asyncDispose]())

/** The statements of a block, with values for its variables. */
function statementsOf(name: string, values: Readonly<Record<string, string>> = {}): string[] {
  const block = blocksOf(readPage('docs/data.md')).find(({ info }) => info === `sql run=${name}`)
  if (!block) throw new Error(`docs/data.md has no block "sql run=${name}".`)
  const later = `timestamptz '${addSeconds(service.clock.now(), 3600).toISOString()}'`
  const code = block.code
    .replaceAll(/:'(\w+)'/g, (_variable, variable: string) => `'${values[variable]}'`)
    .replaceAll('now()', later)
  return code.split(/;\n?/).filter((statement) => statement.trim() !== '')
}

async function read(name: string, values: Readonly<Record<string, string>>): Promise<Row[]> {
  return service.database.prisma.$queryRawUnsafe<Row[]>(statementsOf(name, values).join(''))
}

async function runAll(tx: TransactionClient, statements: readonly string[]): Promise<void> {
  for (const statement of statements) await tx.$executeRawUnsafe(statement)
}

const REPORTS = [
  ['usage', () => ({ month: `${service.clock.now().toISOString().slice(0, 7)}-01` })],
  ['call', () => ({ request: 'req_1' })],
  ['audit', () => ({ after: '0' })],
] as const

it('name who has used what, who made a call, and who did what', async () => {
  const [usage, call, audit] = await Promise.all(REPORTS.map(([name, values]) => read(name, values())))
  expect(usage).toMatchObject([{ team: '@acme/core', caller: BOB, model: 'vendora/large', calls: 1n }])
  expect(String(usage?.[0]?.['cost_usd'])).toBe('1.5')
  expect(call).toMatchObject([{ caller: BOB, served_by: 'vendora', outcome: 'whole' }])
  const [first, ...others] = audit?.filter(({ kind }) => kind !== 'team.created') ?? []
  expect(first).toMatchObject({ kind: 'invitation.created', actor: 'file', team: '@acme/core' })
  expect(others).toContainEqual(expect.objectContaining({ kind: 'api_key.created', actor: BOB, ip: '127.0.0.1' }))
})

it('of reports need no rights beyond those of their user', async () => {
  const undo = new Error('undo')
  const trial = service.database.prisma.$transaction(async (tx) => {
    await runAll(tx, [...statementsOf('reader'), 'SET LOCAL ROLE svc_reports'])
    for (const [name, values] of REPORTS) await tx.$queryRawUnsafe(statementsOf(name, values()).join(''))
    throw undo
  })
  await expect(trial).rejects.toBe(undo)
})

it('all that is stored of a person is exported, without secrets', async () => {
  const stored = JSON.parse(await exportAccount(service.database, BOB)) as Readonly<Record<string, readonly object[]>>
  expect(stored).toMatchObject({
    account: { email: BOB },
    logins: expect.arrayContaining([expect.objectContaining({ device_name: 'bob’s laptop' })]),
    links: [{ ip: '127.0.0.1' }],
    devices: [{ device_name: 'bob’s laptop' }],
    keys: [{ name: 'bob’s key' }],
    calls: [{ request_id: 'req_1' }],
    sessions: [{ session_id: 'run-1' }],
    limits: [{ subject: 'member' }, { subject: 'key' }],
    passkeys: [],
    // The start of a login that named no account, and a limit of a key.
    audit: expect.arrayContaining([
      expect.objectContaining({ kind: 'device_login.started', account_id: null }),
      expect.objectContaining({
        kind: 'spending_limit.created',
        details: expect.objectContaining({ name: 'bob’s old key, day' }),
      }),
    ]),
  })
  expect(JSON.stringify(stored)).not.toMatch(/"(?:\w*hash|salt|user_code|user_handle|public_key)":/)
})

it('is erased of a person who has left, but for what the sums need', async () => {
  const { database, clock } = service
  const { prisma } = database
  const left = { where: { accountId: bob }, data: { revokedAt: clock.now() } }
  // And those of three limits, and the start of a login that named no account.
  const events = 4 + (await prisma.auditEvent.count({ where: { accountId: bob } }))
  await expect(eraseAccount(database, BOB, clock.now())).rejects.toThrow('still invited to @acme/core')
  expect(await prisma.auditEvent.count({ where: { accountId: bob, ip: { not: null } } })).toBeGreaterThan(0)
  await prisma.invitation.updateMany(left)
  expect(await eraseAccount(database, BOB, clock.now())).toContain(
    'Removed: invitations 1, devices 1, browsers 1, passkeys 0, API keys 1, spending limits 1. ' +
      `Audit events without network addresses, names and devices now: ${events}.`,
  )
  const tables = await prisma.$queryRaw<{ name: string }[]>`
    SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'`
  const stored = await Promise.all(
    tables.map(({ name }) => prisma.$queryRawUnsafe<object[]>(`SELECT to_jsonb(t)::text AS row FROM "${name}" t`)),
  )
  const rows = stored.flat().map((each) => JSON.stringify(each))
  expect(rows.filter((each) => each.includes('bob'))).toEqual([])
  expect(rows.some((each) => each.includes(ADA))).toBe(true)
  expect(await prisma.auditEvent.count({ where: { accountId: null, ip: { not: null } } })).toBe(0)
  const ofLimits = await prisma.auditEvent.findMany({ where: { kind: 'spending_limit.created' } })
  expect(ofLimits.map(({ ip }) => ip)).toEqual(['127.0.0.1', '127.0.0.1', '127.0.0.1'])
  expect(await prisma.auditEvent.count({ where: { accountId: bob, ip: { not: null } } })).toBe(0)
  expect(await prisma.usageDay.count({ where: { accountId: bob } })).toBe(1)
})
