import { expect, it } from 'vitest'
import { cookiesOf, mailTokenOf, tokenOf } from '../support/people.ts'
import { form, json, outcomeOf } from '../support/requests.ts'
import { startService } from '../support/service.ts'

const ADA = 'ada@example.com'

it('a person signs a device in by mail, works, and signs it out again', async () => {
  await using service = await startService()
  const started = await service.startLogin(ADA, { deviceId: 'laptop-1', deviceName: 'Ada’s laptop' })
  const poll = () => service.client.POST('/v1/auth/device/poll', { body: { deviceCode: started.deviceCode } })
  expect((await poll()).response.status).toBe(428)

  // The mail, its link, the page behind it, and its Approve button.
  const mail = service.mailbox.newest(ADA)
  expect(mail.text).toContain(started.userCode)
  const token = mailTokenOf(service, ADA)
  const page = await (await service.fetch(`/v1/auth/magic/consume?token=${token}`)).text()
  expect(page).toContain(started.userCode)
  expect(page).toContain('Ada’s laptop')
  const approved = await service.fetch('/v1/auth/magic/consume', form({ token, action: 'approve' }))
  expect(approved.status).toBe(200)

  // The device has its tokens at the next poll, and the gateway knows it.
  const { data: tokens } = await poll()
  if (!tokens) throw new Error('The poll gave no tokens.')
  const models = await service.clientOf(tokens.accessToken).GET('/v1/models')
  expect(models.data?.data.map(({ id }) => id)).toContain('svc/fast')
  const team = await service
    .clientOf(tokens.accessToken)
    .GET('/v1/teams/{team}', { params: { path: { team: tokens.team } } })
  expect(team.data?.endpoint).toBe(service.config.gatewayUrl)

  // A quarter of an hour later it refreshes and goes on.
  service.clock.advance({ seconds: 900 })
  expect((await service.clientOf(tokens.accessToken).GET('/v1/models')).response.status).toBe(401)
  const refreshed = await service.client.POST('/v1/auth/token/refresh', {
    body: { account: tokens.account, refreshToken: tokens.refreshToken },
  })
  const next = refreshed.data?.accessToken ?? ''
  expect((await service.clientOf(next).GET('/v1/models')).response.status).toBe(200)

  await service.clientOf(next).POST('/v1/auth/logout')
  expect((await service.clientOf(next).GET('/v1/models')).response.status).toBe(401)
  expect((await service.clientOf(next).GET('/device')).response.status).toBe(401)
  // The browser is a session of its own and stays.
  const device = await service.fetch('/device', { headers: { cookie: cookiesOf(approved) } })
  expect(device.status).toBe(200)
})

it('a person denies what somebody else started', async () => {
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

it('signing in again on the same device replaces its session at the first poll, not before', async () => {
  await using service = await startService()
  const first = await service.signIn(ADA, { deviceId: 'laptop-1' })
  const other = await service.signIn(ADA, { deviceId: 'laptop-2' })
  const isAlive = async (accessToken: string) =>
    (await service.clientOf(accessToken).GET('/v1/models')).response.status === 200

  const { deviceCode } = await service.startLogin(ADA, { deviceId: 'laptop-1' })
  await service.approveByMail(ADA)
  expect(await isAlive(first.accessToken)).toBe(true)
  await service.client.POST('/v1/auth/device/poll', { body: { deviceCode } })

  expect(await isAlive(first.accessToken)).toBe(false)
  expect(await isAlive(other.accessToken)).toBe(true)
  const refresh = await service.client.POST('/v1/auth/token/refresh', {
    body: { account: ADA, refreshToken: first.refreshToken },
  })
  expect(refresh.response.status).toBe(401)
})

it('each thing that happens to a login is in the audit, without a secret', async () => {
  await using service = await startService()
  const { deviceCode, verificationUri } = await service.startLogin(ADA)
  const token = mailTokenOf(service, ADA)
  await service.approveByMail(ADA)
  const { data } = await service.client.POST('/v1/auth/device/poll', { body: { deviceCode } })
  await service.clientOf(data?.accessToken ?? '').POST('/v1/auth/logout')

  const rows = await service.database.prisma.auditEvent.findMany({ orderBy: { id: 'asc' } })
  expect(rows.map(({ kind }) => kind).filter((kind) => kind.startsWith('device_'))).toEqual([
    'device_login.started',
    'device_login.approved',
    'device_session.opened',
    'device_session.revoked',
  ])
  const text = JSON.stringify(rows.map(({ details, subjectId }) => ({ details, subjectId })))
  for (const secret of [
    deviceCode,
    token,
    tokenOf(verificationUri),
    data?.refreshToken ?? '-',
    data?.accessToken ?? '-',
  ])
    expect(text).not.toContain(secret)
})
