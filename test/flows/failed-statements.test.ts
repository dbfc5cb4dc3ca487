/** Statements that fail, as after a deadlock, and those whose result another process has changed. */
import { expect, it, onTestFinished } from 'vitest'
import type { Database } from '../../src/database/client.ts'
import type { Statements } from '../../src/database/statements.ts'
import { freshDatabase } from '../support/database.ts'
import { countNewDeviceMails } from '../support/notices.ts'
import { expectData } from '../support/requests.ts'
import { startService } from '../support/service.ts'

const ADA = 'ada@example.com'

type Sql = Parameters<Statements['query']>[0]

/**
 * A service on a database whose statements pass a function. The statement fails with what it throws. When it returns
 * true, the statement is carried out, and its caller gets no rows.
 */
async function startFailing(before: (text: string) => boolean) {
  const database = await freshDatabase()
  let isStarted = false
  const failing: Database = {
    ...database,
    async query<Row>(statement: Sql) {
      const hidesRows = check(statement)
      const rows = await database.query<Row>(statement)
      return hidesRows ? [] : rows
    },
    execute: async (statement) => (check(statement), database.execute(statement)),
  }
  const check = ({ text }: Sql) => isStarted && before(text)
  const service = await startService({ database: failing })
  onTestFinished(() => service[Symbol.asyncDispose]())
  isStarted = true
  return service
}

it('are repeated after a deadlock, in every step of a login, a refresh and a sign-out', async () => {
  const failed = new Set<string>()
  const service = await startFailing((text) => {
    if (failed.has(text) || !/\b(INSERT|UPDATE|DELETE)\b/.test(text)) return false
    failed.add(text)
    throw Object.assign(new Error('deadlock detected'), { code: '40P01' })
  })
  const { account, accessToken, refreshToken } = await service.signIn(ADA)
  const inLogin = failed.size
  const refreshed = await service.client.POST('/v1/auth/token/refresh', { body: { account, refreshToken } })
  expectData('The refresh', refreshed)
  expectData('The sign-out', await service.clientOf(accessToken).POST('/v1/auth/logout'))
  expect(inLogin).toBeGreaterThan(3)
  expect(failed.size).toBeGreaterThan(inLogin)
})

it('are repeated after a deadlock in a transaction that signs devices out', async () => {
  const database = await freshDatabase()
  let fails = false
  const prisma = new Proxy(database.prisma, {
    get(client, name) {
      if (name !== '$transaction' || !fails) return Reflect.get(client, name) as unknown
      fails = false
      return () => Promise.reject(Object.assign(new Error('deadlock detected'), { code: 'P2034' }))
    },
  })
  const service = await startService({ database: { ...database, prisma } })
  onTestFinished(() => service[Symbol.asyncDispose]())
  const client = service.clientOf((await service.signIn(ADA)).accessToken)
  const { devices } = expectData('The list', await client.GET('/v1/devices'))
  const id = devices.find(({ kind }) => kind === 'browser')?.id ?? ''
  fails = true
  expectData('The sign-out', await client.DELETE('/v1/devices/{id}', { params: { path: { id } } }))
  expect(fails).toBe(false)
  fails = true
  expectData('The sign-out everywhere', await client.POST('/v1/auth/logout-everywhere'))
  expect(fails).toBe(false)
})

it('are made up for by the next poll: the former session of the device ends, and its owner gets one email', async () => {
  let fails = false
  const service = await startFailing((text) => {
    if (fails && text.includes('notice_taken_at IS NULL')) throw new Error('Connection terminated unexpectedly')
    return false
  })
  const former = await service.signIn(ADA)
  const { deviceCode } = await service.startLogin(ADA)
  await service.approveByMail(ADA)
  const poll = () => service.client.POST('/v1/auth/device/poll', { body: { deviceCode } })

  fails = true
  expect((await poll()).response.status).toBe(503)
  fails = false
  expectData('The next poll', await poll())

  const { account, refreshToken } = former
  const refreshed = await service.client.POST('/v1/auth/token/refresh', { body: { account, refreshToken } })
  expect(refreshed.response.status).toBe(401)
  expect(await countNewDeviceMails([service], ADA)).toBe(2)
})

it('find the session that another process has just opened for the same login', async () => {
  const hidden: string[] = []
  // A statement does not see what was committed while it waited for the login.
  const service = await startFailing((text) => {
    const isHidden = hidden.length === 0 && text.includes('INSERT INTO device_sessions')
    if (isHidden) hidden.push(text)
    return isHidden
  })
  await service.signIn(ADA)
  expect(hidden.length).toBe(1)
  expect(await service.database.prisma.deviceSession.count()).toBe(1)
})
