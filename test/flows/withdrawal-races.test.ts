import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import type { Prisma } from '../../generated/prisma/client.ts'
import type { NewApiKey } from '../../generated/sdk/index.js'
import { openDatabase } from '../../src/database/open.ts'
import { lockDirectory } from '../../src/directory/state.ts'
import type { Secret } from '../../src/kernel/secret.ts'
import { addPasskey, finishSignIn, newAuthenticator, startSignIn } from '../support/passkeys.ts'
import { cookiesOf, directoryOf, mailTokenOf, people, signInBrowser } from '../support/people.ts'
import { startPostgres, withoutStatementTimeout } from '../support/postgres.ts'
import type { TestPostgres } from '../support/postgres.ts'
import { bearerOf, expectJson, form, json, messageOf, outcomeOf } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'
import { countWaiting, lockNewestRow } from '../support/table-lock.ts'
import { waitForValue } from '../support/wait.ts'

const persons = people()
let postgres: TestPostgres
let url: Secret
let service: TestService

beforeAll(async () => {
  postgres = await startPostgres()
  url = withoutStatementTimeout(await postgres.newDatabase())
  const database = await openDatabase({ kind: 'postgres', url })
  service = await startService({ directory: persons.directory, database })
})
// Also where a test fails before it lists its people again.
afterEach(() => service.applyDirectory(persons.directory))
afterAll(async () => {
  await service[Symbol.asyncDispose]()
  await postgres[Symbol.asyncDispose]()
})

const click = (token: string) => service.fetch('/v1/auth/magic/consume', form({ token }))
const status = async (cookie: string) => (await service.fetch('/device', { headers: { cookie } })).status

/** Runs `second` while `first`, which has locked its invitation, waits for its login; returns the answer of `first`. */
async function during<T>(first: () => Promise<T>, second: () => Promise<unknown>): Promise<T> {
  const release = await lockNewestRow(url, 'device_logins')
  let other: Promise<unknown> | undefined
  const answer = first()
  try {
    await waitForValue('the first request to wait for its login', waitingStatements, 1)
    other = second()
    // It waits for the invitation, or behind `first` for the login.
    await waitForValue('the second request to wait', waitingStatements, 2)
  } finally {
    await release()
    // Also where a wait has failed, so that nothing of this test runs on in the next one.
    await Promise.allSettled([answer, other])
  }
  await other
  return answer
}

/** How long a transaction of a test waits for a request. The database ends it after ten seconds without a statement. */
const WAIT = { timeoutMs: 9000 }

const waitingStatements = () => countWaiting(service.database)

/** Everybody but the last person, who stays, is withdrawn; nobody is added. */
const WITHDRAWN = directoryOf(['person-60@example.com'])

it('a link that is clicked while the directory withdraws its person signs no browser in when they are listed again', async () => {
  const email = persons.next()
  await service.startLogin(email)
  const token = mailTokenOf(service, email)
  const clicked = await during(
    () => click(token),
    () => service.applyDirectory(WITHDRAWN),
  )
  await service.applyDirectory(persons.directory)
  expect(clicked.status).toBe(200)
  expect(await status(cookiesOf(clicked))).toBe(401)
})

it('nor does the unused link of a login that was approved by its code', async () => {
  const email = persons.next()
  const { accessToken } = await service.signIn(email)
  const { deviceCode, userCode } = await service.startLogin(email, { deviceId: 'second' })
  const token = mailTokenOf(service, email)
  await service.clientOf(accessToken).POST('/device', { body: { userCode } })
  expect((await service.client.POST('/v1/auth/device/poll', { body: { deviceCode } })).response.status).toBe(200)
  await service.applyDirectory(WITHDRAWN)
  await service.applyDirectory(persons.directory)
  expect(await outcomeOf(await service.fetch('/v1/auth/magic/consume', json({ token })))).toBe('401 unauthorized')
})

it('a link that is clicked while its person signs out everywhere else signs no browser in', async () => {
  const email = persons.next()
  const cookie = await signInBrowser(service, email)
  const { userCode, deviceCode } = await service.startLogin(email)
  const token = mailTokenOf(service, email)
  await service.fetch('/device', json({ userCode }, { cookie }))
  const { data } = await service.client.POST('/v1/auth/device/poll', { body: { deviceCode } })
  const device = service.clientOf(data?.accessToken ?? '')
  const clicked = await during(
    () => click(token),
    () => device.POST('/v1/auth/logout-everywhere', { body: { scope: 'others' } }),
  )
  expect(clicked.status).toBe(200)
  expect(await status(cookiesOf(clicked))).toBe(401)
})

/** What a transaction does to an account. */
type Step = (tx: Prisma.TransactionClient, accountId: string) => Promise<unknown>

const lockAccount: Step = (tx, id) => tx.$queryRaw`SELECT id FROM accounts WHERE id = ${id}::uuid FOR UPDATE`

/** Makes a request that waits for what `lock` locks until `change` is done; returns its outcome. */
async function whileLocked(
  email: string,
  request: () => Promise<Response>,
  change: Step,
  lock: Step = lockAccount,
): Promise<string> {
  const { prisma } = service.database
  const { id } = await prisma.account.findUniqueOrThrow({ where: { email } })
  const { answering } = await prisma.$transaction(async (tx) => {
    await lock(tx, id)
    const answering = request()
    await waitForValue('the request to wait', waitingStatements, 1, WAIT)
    await change(tx, id)
    return { answering }
  })
  return outcomeOf(await answering)
}

/** Finishes a sign-in by passkey while something changes; returns the outcome. */
async function signInDuring(change: Step, lock?: Step): Promise<string> {
  const email = persons.next()
  const authenticator = newAuthenticator()
  await addPasskey(service, bearerOf((await service.signIn(email)).accessToken), authenticator)
  const credential = authenticator.get(await startSignIn(service))
  return whileLocked(email, () => finishSignIn(service, credential), change, lock)
}

it('a passkey that signs a device in while its person is withdrawn opens no session', async () => {
  const revokedAt = service.clock.now()
  const withdraw: Step = (tx, accountId) => tx.invitation.updateMany({ where: { accountId }, data: { revokedAt } })
  // A withdrawal locks the invitation, as the sign-in does first. With a lock of the account, each would wait for the
  // other.
  expect(await signInDuring(async () => undefined, withdraw)).toBe('403 not_invited')
})

it('a passkey that signs a device in while its owner disowns the device that added it opens no session', async () => {
  const outcome = await signInDuring((tx, accountId) => tx.passkey.deleteMany({ where: { accountId } }))
  expect(outcome).toBe('401 unauthorized')
})

it('a passkey that is deleted while its owner disowns a device is not removed a second time', async () => {
  const email = persons.next()
  const by = bearerOf((await service.signIn(email)).accessToken)
  const subjectId = await addPasskey(service, by, newAuthenticator())
  const { prisma } = service.database
  const device = await prisma.deviceSession.findFirstOrThrow({ where: { invitation: { account: { email } } } })
  const { disowning } = await prisma.$transaction(async (tx) => {
    await tx.passkey.delete({ where: { id: subjectId } })
    const disowning = service.fetch('/v1/auth/logout-everywhere', json({ unknownDevice: device.id }, by))
    await waitForValue('the request to wait for the passkey', waitingStatements, 1, WAIT)
    return { disowning }
  })
  expect(await expectJson('Disowning the device', disowning)).toMatchObject({ passkeys: 0 })
  expect(await prisma.auditEvent.count({ where: { kind: 'passkey.removed', subjectId } })).toBe(0)
})

it.each(['created', 'rotated'])('no key is %s while its owner signs the device out that does it', async (change) => {
  const email = persons.next()
  const by = bearerOf((await service.signIn(email)).accessToken)
  const create = () => service.fetch('/v1/keys', json({ name: 'Script' }, by))
  const { info } = await expectJson<NewApiKey>('The first key', create())
  const rotate = () => service.fetch(`/v1/keys/${info.id}/rotate`, json({}, by))
  const outcome = await whileLocked(email, change === 'created' ? create : rotate, (tx, accountId) =>
    tx.deviceSession.updateMany({ where: { invitation: { accountId } }, data: { revokedAt: service.clock.now() } }),
  )
  expect(outcome).toBe('401 unauthorized')
  expect(await service.database.prisma.apiKey.count({ where: { invitation: { account: { email } } } })).toBe(1)
})

it('no key of a service account is revoked by an admin who is signed out meanwhile', async () => {
  const email = persons.next()
  const { prisma } = service.database
  const { teamId, accountId } = await prisma.invitation.findFirstOrThrow({ where: { account: { email } } })
  await prisma.invitation.updateMany({ where: { teamId, accountId }, data: { role: 'admin' } })
  const by = bearerOf((await service.signIn(email)).accessToken)
  const path = '/v1/teams/%40acme%2Fcore/service-accounts'
  const { id } = await expectJson<{ id: string }>('The account', service.fetch(path, json({ name: 'builds' }, by)))
  const create = service.fetch(`${path}/${id}/keys`, json({ name: 'nightly' }, by))
  const { info } = await expectJson<NewApiKey>('The key', create)
  const revoke = () => service.fetch(`${path}/${id}/keys/${info.id}`, { method: 'DELETE', headers: by })
  const signOut: Step = (tx) =>
    tx.deviceSession.updateMany({ where: { invitation: { accountId } }, data: { revokedAt: service.clock.now() } })
  const lockTeam: Step = (tx) => tx.$queryRaw`SELECT id FROM teams WHERE id = ${teamId}::uuid FOR UPDATE`
  expect(await whileLocked(email, revoke, signOut, lockTeam)).toBe('401 unauthorized')
  expect(await prisma.apiKey.findUnique({ where: { id: info.id } })).toMatchObject({ revokedAt: null })
})

it('no key is created for a team by a person who is removed from it meanwhile, and signed in to another team', async () => {
  const email = persons.next()
  const by = bearerOf((await service.signIn(email)).accessToken)
  const { prisma } = service.database
  const { id: accountId } = await prisma.account.findUniqueOrThrow({ where: { email } })
  const { id: teamId } = await prisma.team.findFirstOrThrow({ where: { name: 'other' } })
  const now = service.clock.now()
  await prisma.invitation.create({ data: { accountId, teamId, role: 'member', source: 'admin', createdAt: now } })
  const create = () => service.fetch('/v1/keys', json({ name: 'Script', team: '@acme/other' }, by))
  const remove: Step = (tx) => tx.invitation.updateMany({ where: { accountId, teamId }, data: { revokedAt: now } })
  expect(await whileLocked(email, create, async () => undefined, remove)).toBe('403 not_invited')
})

it('a login without an address that is approved while its person is withdrawn opens no session when they are listed again', async () => {
  const { accessToken } = await service.signIn(persons.next())
  const started = await service.fetch('/oauth/device_authorization', form({ client_id: 'tool' }))
  const { device_code, user_code } = (await started.json()) as { device_code: string; user_code: string }
  const approved = await during(
    () => service.clientOf(accessToken).POST('/device', { body: { userCode: user_code } }),
    () => service.applyDirectory(WITHDRAWN),
  )
  expect(approved.response.status).toBe(200)
  await service.applyDirectory(persons.directory)
  const { response } = await service.client.POST('/v1/auth/device/poll', { body: { deviceCode: device_code } })
  expect(response.status).toBe(410)
})

it.each(['a device', 'a browser'])(
  'no login is approved by %s that its owner signs out meanwhile',
  async (approver) => {
    const email = persons.next()
    const isDevice = approver === 'a device'
    const by = isDevice
      ? bearerOf((await service.signIn(email)).accessToken)
      : { cookie: await signInBrowser(service, email) }
    const started = service.fetch('/oauth/device_authorization', form({ client_id: 'tool' }))
    const login = await expectJson<{ device_code: string; user_code: string }>('The start of the login', started)
    const approve = () => service.fetch('/device', json({ userCode: login.user_code }, by))
    const ended = { where: { invitation: { account: { email } } }, data: { revokedAt: service.clock.now() } }
    const outcome = await whileLocked(email, approve, (tx) =>
      isDevice ? tx.deviceSession.updateMany(ended) : tx.browserSession.updateMany(ended),
    )
    expect(outcome).toBe('401 authenticate_first')
    const polled = await service.client.POST('/v1/auth/device/poll', { body: { deviceCode: login.device_code } })
    expect(polled.response.status).toBe(428)
  },
)

const withdraw: Step = (tx, accountId) =>
  tx.invitation.updateMany({ where: { accountId }, data: { revokedAt: service.clock.now() } })
const nothing: Step = async () => undefined

it('no login is started while its person is withdrawn, so that none is left when they are invited again', async () => {
  const email = persons.next()
  const start = () => service.fetch('/v1/auth/device/start', json({ email, deviceId: 'laptop', deviceName: 'Laptop' }))
  expect(await whileLocked(email, start, nothing, withdraw)).toBe('403 not_invited')
  expect(await service.database.prisma.deviceLogin.count({ where: { invitation: { account: { email } } } })).toBe(0)
})

it('no link to confirm a sign-in is sent while its person is withdrawn', async () => {
  const email = persons.next()
  const by = bearerOf((await service.signIn(email)).accessToken)
  const confirm = () => service.fetch('/device', form({ action: 'confirm-email' }, by))
  expect(await whileLocked(email, confirm, nothing, withdraw)).toBe('401')
  expect(await service.database.prisma.signInLink.count({ where: { invitation: { account: { email } } } })).toBe(0)
})

it('no login is started while the file removes the team', async () => {
  const email = 'stranger@example.com'
  const start = () => service.fetch('/v1/auth/device/start', json({ email, deviceId: 'laptop', deviceName: 'Laptop' }))
  const remove: Step = (tx) => tx.team.deleteMany({ where: { name: 'other' } })
  expect(await whileLocked(email, start, nothing, remove)).toBe('403 not_invited')
})

it('a member whom the directory file lists meanwhile is neither removed nor given another role', async () => {
  const [admin, email] = [persons.next(), persons.next()]
  const by = bearerOf((await service.signIn(admin)).accessToken)
  const { prisma } = service.database
  await prisma.invitation.updateMany({ where: { account: { email: admin } }, data: { role: 'admin' } })
  const ofMember = { account: { email } }
  await prisma.invitation.updateMany({ where: ofMember, data: { source: 'admin' } })
  const { accountId } = await prisma.invitation.findFirstOrThrow({ where: ofMember })
  const path = `/v1/teams/%40acme%2Fcore/members/${accountId}`
  const list: Step = (tx) => tx.invitation.updateMany({ where: { accountId }, data: { source: 'directory' } })
  const makeAdmin = { ...json({ role: 'admin' }, by), method: 'PATCH' }
  expect(await whileLocked(email, () => service.fetch(path, makeAdmin), nothing, list)).toBe('409 conflict')
  await prisma.invitation.updateMany({ where: ofMember, data: { source: 'admin' } })
  const remove = () => service.fetch(path, { method: 'DELETE', headers: by })
  expect(await whileLocked(email, remove, nothing, list)).toBe('409 conflict')
  expect(await prisma.invitation.findFirstOrThrow({ where: ofMember })).toMatchObject({
    role: 'member',
    revokedAt: null,
  })
})

it('an admin changes no model of the team while the directory file is applied', async () => {
  const email = persons.next()
  const by = bearerOf((await service.signIn(email)).accessToken)
  const { prisma } = service.database
  await prisma.invitation.updateMany({ where: { account: { email } }, data: { role: 'admin' } })
  const change = { ...json({ defaultModel: null }, by), method: 'PATCH' }
  const answer = await prisma.$transaction(
    async (tx) => {
      await lockDirectory(tx)
      return service.fetch('/v1/teams/%40acme%2Fcore', change)
    },
    { timeout: 30_000 },
  )
  expect(answer.status).toBe(409)
  expect(await messageOf(answer)).toBe('The directory file is being applied. Repeat the request in a few seconds.')
})
