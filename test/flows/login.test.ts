import { expect, it } from 'vitest'
import { makeStartLogin } from '../../src/control/device-login/start.ts'
import { makeDeviceLoginStore } from '../../src/control/device-login/store.ts'
import { plainUserCode } from '../../src/control/device-login/user-code.ts'
import { cookiesOf, mailTokenOf, tokenOf } from '../support/people.ts'
import { expectData, form, json, outcomeOf } from '../support/requests.ts'
import { recordingLog } from '../support/recording-log.ts'
import { startService } from '../support/service.ts'

const ADA = 'ada@example.com'

it('signs a device in by email, calls the gateway, refreshes and signs out', async () => {
  await using service = await startService()
  const started = await service.startLogin(ADA, { deviceId: 'laptop-1', deviceName: 'Ada’s laptop' })
  const poll = () => service.client.POST('/v1/auth/device/poll', { body: { deviceCode: started.deviceCode } })
  expect((await poll()).response.status).toBe(428)

  // The email, its link, the page of the link and its Approve button.
  const mail = service.mailbox.newest(ADA)
  expect(mail.text).toContain(started.userCode)
  const token = mailTokenOf(service, ADA)
  const page = await (await service.fetch(`/v1/auth/magic/consume?token=${token}`)).text()
  expect(page).toContain(started.userCode)
  expect(page).toContain('Ada’s laptop')
  const approved = await service.fetch('/v1/auth/magic/consume', form({ token, action: 'approve' }))
  expect(approved.status).toBe(200)

  // The device gets its tokens at the next poll, and the gateway accepts them.
  const tokens = expectData('The poll', await poll())
  const models = await service.clientOf(tokens.accessToken).GET('/v1/models')
  expect(models.data?.data.map(({ id }) => id)).toContain('svc/fast')
  const team = await service
    .clientOf(tokens.accessToken)
    .GET('/v1/teams/{team}', { params: { path: { team: tokens.team } } })
  expect(team.data?.endpoint).toBe(service.config.gatewayUrl)

  // After 15 minutes the access token has expired, and the device refreshes.
  service.clock.advance({ seconds: 900 })
  expect((await service.clientOf(tokens.accessToken).GET('/v1/models')).response.status).toBe(401)
  const refreshed = await service.client.POST('/v1/auth/token/refresh', {
    body: { account: tokens.account, refreshToken: tokens.refreshToken },
  })
  const next = expectData('The refresh', refreshed).accessToken
  expect((await service.clientOf(next).GET('/v1/models')).response.status).toBe(200)

  expectData('The sign-out', await service.clientOf(next).POST('/v1/auth/logout'))
  expect((await service.clientOf(next).GET('/v1/models')).response.status).toBe(401)
  expect((await service.clientOf(next).GET('/device')).response.status).toBe(401)
  // The browser has its own session, which continues.
  const device = await service.fetch('/device', { headers: { cookie: cookiesOf(approved) } })
  expect(device.status).toBe(200)
})

it('denies a login by the link of the email', async () => {
  await using service = await startService()
  const { deviceCode } = await service.startLogin(ADA)
  const token = mailTokenOf(service, ADA)
  const denied = await service.fetch('/v1/auth/magic/consume', form({ token, action: 'deny' }))
  expect(await denied.text()).toContain('Denied')
  expect(denied.headers.getSetCookie()).toEqual([])

  const poll = await service.client.POST('/v1/auth/device/poll', { body: { deviceCode } })
  expect(poll.error?.error.code).toBe('access_denied')
  expect(await outcomeOf(await service.fetch('/v1/auth/magic/consume', json({ token })))).toBe('401 unauthorized')
})

it('replaces the session of the same device at the first poll, not at the approval', async () => {
  await using service = await startService()
  const first = await service.signIn(ADA, { deviceId: 'laptop-1' })
  const other = await service.signIn(ADA, { deviceId: 'laptop-2' })
  const isActive = async (accessToken: string) =>
    (await service.clientOf(accessToken).GET('/v1/models')).response.status === 200

  const { deviceCode } = await service.startLogin(ADA, { deviceId: 'laptop-1' })
  await service.approveByMail(ADA)
  expect(await isActive(first.accessToken)).toBe(true)
  expectData('The poll', await service.client.POST('/v1/auth/device/poll', { body: { deviceCode } }))

  expect(await isActive(first.accessToken)).toBe(false)
  expect(await isActive(other.accessToken)).toBe(true)
  const refresh = await service.client.POST('/v1/auth/token/refresh', {
    body: { account: ADA, refreshToken: first.refreshToken },
  })
  expect(refresh.response.status).toBe(401)
})

it('starts with another user code when the first one belongs to a login that waits', async () => {
  await using service = await startService()
  const waiting = await service.startLogin(ADA)
  const store = makeDeviceLoginStore(service.database)
  const tried: unknown[] = []
  const unlimited = { take: async () => {}, tryTake: async () => 0, refund: async () => {} }
  const start = makeStartLogin({
    logins: {
      ...store,
      async create(login, accountId) {
        const userCode = tried.length === 0 ? plainUserCode(waiting.userCode) : login.userCode
        const created = await store.create({ ...login, userCode }, accountId)
        tried.push(created)
        return created
      },
    },
    findInvitation: async () => null,
    mailer: null,
    settings: { loginSeconds: 600, devLinks: false, approvalMode: 'click' },
    limits: { starts: unlimited, notInvited: unlimited, mails: unlimited },
    baseUrl: 'https://svc.test',
    clock: service.clock,
    log: recordingLog([]),
  })
  const device = { deviceId: 'tv', deviceName: 'TV', clientId: 'tv', startIp: '127.0.0.1', startUserAgent: '' }
  const { userCode } = await start({ email: null, team: undefined, ...device })
  expect(tried).toEqual(['taken', { id: expect.any(String) }])
  expect(userCode).not.toBe(waiting.userCode)
})

it('writes each step of a login to the audit, without secrets', async () => {
  await using service = await startService()
  const { deviceCode, verificationUri } = await service.startLogin(ADA)
  const token = mailTokenOf(service, ADA)
  await service.approveByMail(ADA)
  const tokens = expectData('The poll', await service.client.POST('/v1/auth/device/poll', { body: { deviceCode } }))
  expectData('The sign-out', await service.clientOf(tokens.accessToken).POST('/v1/auth/logout'))

  const rows = await service.database.prisma.auditEvent.findMany({ orderBy: { id: 'asc' } })
  expect(rows.map(({ kind }) => kind).filter((kind) => kind.startsWith('device_'))).toEqual([
    'device_login.started',
    'device_login.approved',
    'device_session.opened',
    'device_session.revoked',
  ])
  const browser = await service.database.prisma.browserSession.findFirstOrThrow()
  const opened = rows.filter(({ kind }) => kind === 'browser_session.opened')
  expect(opened).toMatchObject([{ subjectId: browser.id, details: { via: 'device_login' } }])
  const text = JSON.stringify(rows.map(({ details, subjectId }) => ({ details, subjectId })))
  for (const secret of [deviceCode, token, tokenOf(verificationUri), tokens.refreshToken, tokens.accessToken])
    expect(text).not.toContain(secret)
})
