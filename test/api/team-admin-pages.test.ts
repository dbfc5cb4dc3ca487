import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TeamDeviceList } from '../../generated/openapi.ts'
import { DAY_MS } from '../../src/kernel/durations.ts'
import { newKeyMaterial } from '../../src/kernel/secret.ts'
import { accountIdOf } from '../support/agent-sessions.ts'
import { signInBrowser } from '../support/people.ts'
import { startService } from '../support/service.ts'
import { isGoodKey, shownKey } from '../support/shown-key.ts'
import { startTeam } from '../support/team.ts'
import { startTeamWithModels } from '../support/team-with-models.ts'
import type { TeamWithModels } from '../support/team-with-models.ts'
import { expectJson, form, outcomeOf } from '../support/requests.ts'
import type { FormFields } from '../support/requests.ts'

const HOME = '/teams/acme/core'
const DEVICES = '/v1/teams/%40acme%2Fcore/devices'
const HTML = { accept: 'text/html' }
const UNKNOWN = '01939c1e-6a5b-7c3d-8e4f-0a1b2c3d4e5f'

let keys: TeamWithModels

beforeAll(async () => {
  keys = await startTeamWithModels({
    SVC_ADMIN_BACKEND_HOSTS: '*.vendor.example',
    SVC_SECRET_KEY: newKeyMaterial().reveal(),
  })
})
afterAll(() => keys[Symbol.asyncDispose]())

const open = (path: string, by = keys.ada) => keys.service.fetch(path, { headers: { ...HTML, ...by } })
const post = (path: string, fields: FormFields, by = keys.ada) => keys.service.fetch(path, form(fields, by))

/** The status of a page and the text of its notice. */
async function noticeOf(answer: Promise<Response>): Promise<string> {
  const response = await answer
  expect(response.headers.get('content-type')).toMatch(/^text\/html/)
  const notice = /<p class="notice[^>]*>[^]*?<span>([^]*?)<\/span>/.exec(await response.clone().text())?.[1]
  return `${response.status} ${notice ?? ''}`.replaceAll(/\s+/g, ' ').trim()
}

describe('showTeamMembers and changeTeamMembers', () => {
  const path = `${HOME}/members`

  it('200: lists the people, and says who is the viewer and who is listed in the directory file', async () => {
    const page = await (await open(path)).text()
    const own = page.split('<li ').filter((row) => row.includes('>You<'))
    expect(own).toEqual([expect.stringContaining('ada@example.com')])
    expect(page).toContain('member@example.com')
    // An admin may have invited them before the file listed them.
    expect(page).toContain('Listed in the directory file, invited <time')
    expect(await (await open(`${path}?after=member%40example.com`)).text()).toContain('There is nobody on this page.')
  })

  it.each([
    [29, 'Not signed in yet'],
    [31, 'Not seen in the last 30 days'],
  ])('200: of a person who was invited %i days ago and not seen since, says: %s', async (days, text) => {
    await post(path, { action: 'invite', email: 'kay@example.com' })
    const account = { email: 'kay@example.com' }
    const createdAt = new Date(keys.service.clock.now().getTime() - days * DAY_MS)
    await keys.service.database.prisma.invitation.updateMany({ where: { account }, data: { createdAt } })
    expect(await (await open(`${path}?after=kax%40example.com`)).text()).toContain(`<span>${text}</span>`)
    const memberId = await accountIdOf(keys.service, 'kay@example.com')
    await post(path, { action: 'remove', memberId })
  })

  it('200: invites, changes the role, and removes', async () => {
    expect(await noticeOf(post(path, { action: 'invite', email: 'Grace@Example.com', role: 'member' }))).toMatch(
      /^200 Invited\. An email/,
    )
    const memberId = await accountIdOf(keys.service, 'grace@example.com')
    expect(await noticeOf(post(path, { action: 'set-role', memberId, role: 'admin' }))).toBe('200 The role is changed.')
    expect(await noticeOf(post(path, { action: 'remove', memberId }))).toMatch(/^200 Removed\./)
    expect(await (await open(path)).text()).not.toContain('grace@example.com')
  })

  it('200: sends an invitation by email to people who have not signed in, also to those of the directory file', async () => {
    await post(path, { action: 'invite', email: 'hal@example.com' })
    await keys.service.mailbox.waitFor('hal@example.com', 'You are invited')
    const [hal, listed] = [
      await accountIdOf(keys.service, 'hal@example.com'),
      await accountIdOf(keys.service, 'member@example.com'),
    ]
    const formsOf = (page: string, id: string) =>
      [...page.matchAll(new RegExp(`name="memberId" value="${id}"[^]*?name="action" value="([^"]+)"`, 'g'))].map(
        ([, action]) => action,
      )
    const page = await (await open(path)).text()
    expect(formsOf(page, hal)).toEqual(['resend', 'set-role', 'remove'])
    expect(formsOf(page, listed)).toEqual([])
    expect(await noticeOf(post(path, { action: 'resend', memberId: hal }))).toBe(
      '200 The email of the invitation is on its way.',
    )
    await keys.service.mailbox.waitFor('hal@example.com', 'You are invited', 2)
    await post(path, { action: 'remove', memberId: hal })
  })

  it('200: stays on the part of the list where the form was', async () => {
    const after = `${path}?after=ada%40example.com`
    expect(await noticeOf(post(path, { action: 'invite', email: 'zoe@example.com' }))).toMatch(/^200 Invited/)
    expect(await (await open(after)).text()).toContain(`<form method="post" action="${after}">`)
    const memberId = await accountIdOf(keys.service, 'zoe@example.com')
    const removed = await post(after, { action: 'remove', memberId })
    expect(await noticeOf(Promise.resolve(removed.clone()))).toMatch(/^200 Removed\./)
    const listed = [...(await removed.text()).matchAll(/<span class="name">([^<]+@[^<]+)<\/span>/g)].map(
      ([, email]) => email,
    )
    expect(listed).toEqual(['member@example.com'])
    expect((await post(`${path}?after=${'x'.repeat(255)}`, { action: 'remove', memberId })).status).toBe(400)
  })

  it('400: says what is wrong with an address, which stays filled in, and refuses a form without its field', async () => {
    const wrong = await post(path, { action: 'invite', email: 'ada..b@example.com', role: 'admin' })
    expect(await noticeOf(Promise.resolve(wrong.clone()))).toMatch(/^400 That is not one email address/)
    expect(await wrong.text()).toMatch(/value="ada\.\.b@example\.com"[^]*<option value="admin" selected>/)
    expect((await post(path, { action: 'remove' })).status).toBe(400)
    // Without the field, nobody is made a member.
    const fields = { action: 'set-role', memberId: await accountIdOf(keys.service, 'ada@example.com') }
    expect((await post(path, fields)).status).toBe(400)
    expect((await open(`${path}?after=${'x'.repeat(255)}`)).status).toBe(400)
  })

  it('403: does not let an old sign-in make an admin', async () => {
    const fields = { action: 'invite', email: 'new@example.com', role: 'admin' }
    const response = await post(path, fields, keys.adaStale)
    expect(response.headers.get('x-should-retry')).toBe('false')
    expect(await noticeOf(Promise.resolve(response))).toMatch(/^403 This needs a sign-in that is at most 15 minutes/)
    // Sending it again must not invite a member instead.
    expect(await response.text()).toContain('<option value="admin" selected>')
    expect(await (await open(path, keys.adaStale)).text()).not.toContain('<option value="admin">')
  })

  it('404: says that somebody is no member any more', async () => {
    expect(await noticeOf(post(path, { action: 'remove', memberId: UNKNOWN }))).toMatch(/^404 The team has no such/)
  })

  it('503: cannot send an invitation where the service sends no email, and has no form for it', async () => {
    await using own = await startTeam()
    await own.invite('ivy@example.com')
    const memberId = await accountIdOf(own.service, 'ivy@example.com')
    await using silent = await startService({ database: own.service.database, mail: false })
    const page = await (await silent.fetch(path, { headers: { ...HTML, ...own.admin } })).text()
    expect(page).toContain('ivy@example.com')
    expect(page).not.toContain('value="resend"')
    expect((await silent.fetch(path, form({ action: 'resend', memberId }, own.admin))).status).toBe(503)
  })

  it('409: leaves people who were invited before, and those that the directory file lists', async () => {
    const again = { action: 'invite', email: 'member@example.com' }
    expect(await noticeOf(post(path, again))).toMatch(/^409 This address is invited/)
    const memberId = await accountIdOf(keys.service, 'member@example.com')
    expect(await noticeOf(post(path, { action: 'remove', memberId }))).toMatch(/^409 The directory file lists/)
  })
})

describe('listTeamDevices, revokeTeamDevice, showTeamDevices and changeTeamDevices', () => {
  const path = `${HOME}/devices`
  const list = (query = '') =>
    expectJson<TeamDeviceList>('The devices', keys.service.fetch(`${DEVICES}${query}`, { headers: keys.ada }))
  const revoke = (id: string, by = keys.ada) =>
    keys.service.fetch(`${DEVICES}/${id}`, { method: 'DELETE', headers: by })
  /** A device of the member that is signed in, with the id of its session. */
  const signIn = async (deviceId: string) => {
    const given = { deviceId, deviceName: `<b>${deviceId}</b>`, team: '@acme/core' }
    const { accessToken } = await keys.service.signIn('member@example.com', given)
    const { id } = await keys.service.database.prisma.deviceSession.findFirstOrThrow({ where: { deviceId } })
    const client = keys.service.clientOf(accessToken)
    const isSignedIn = async () => (await client.GET('/device')).response.status === 200
    return { id, client, isSignedIn }
  }

  it('200: lists devices and browsers in pages that follow each other without a gap', async () => {
    await signIn('paged-1')
    await signIn('paged-2')
    const whole = (await list()).devices
    expect(whole.map(({ kind }) => kind)).toContain('browser')
    expect(whole.map(({ email }) => email)).not.toContain('stranger@example.com')
    const paged: string[] = []
    for (let next: string | null = ''; next !== null;) {
      const page = await list(`?limit=2${next && `&before=${next}`}`)
      paged.push(...page.devices.map(({ id }) => id))
      next = page.next
    }
    expect(paged).toEqual(whole.map(({ id }) => id))
  })

  it('200: lists no device and no browser whose session has expired', async () => {
    const { prisma } = keys.service.database
    const now = keys.service.clock.now()
    const ids = async () => (await list()).devices.map(({ id }) => id)
    const { id } = await signIn('expired')
    expect(await ids()).toContain(id)
    await prisma.deviceSession.update({ where: { id }, data: { idleExpiresAt: now } })
    expect(await ids()).not.toContain(id)
    for (const end of ['idleExpiresAt', 'absoluteExpiresAt']) {
      const cookie = await signInBrowser(keys.service, 'member@example.com')
      const browser = await prisma.browserSession.findFirstOrThrow({ orderBy: { id: 'desc' } })
      expect(cookie && (await ids())).toContain(browser.id)
      await prisma.browserSession.update({ where: { id: browser.id }, data: { [end]: now } })
      expect(await ids(), end).not.toContain(browser.id)
    }
  })

  it('200: signs a device of another member out, with an audit row that names the admin', async () => {
    const { id, client, isSignedIn } = await signIn('lost')
    const atGateway = async () => (await client.GET('/v1/models')).response.status
    expect([await isSignedIn(), await atGateway()]).toEqual([true, 200])
    expect(await outcomeOf(await revoke(id))).toBe('200')
    expect([await isSignedIn(), await atGateway()]).toEqual([false, 401])
    expect(await outcomeOf(await revoke(id))).toBe('404 not_found')
    const row = await keys.service.database.prisma.auditEvent.findFirstOrThrow({
      where: { kind: 'device_session.revoked', subjectId: id },
    })
    const adminId = await accountIdOf(keys.service, 'ada@example.com')
    expect(row.details).toEqual({ reason: 'signed_out_by_admin', by: 'admin', adminId })
  })

  it('200: signs a browser of another member out', async () => {
    const cookie = await signInBrowser(keys.service, 'member@example.com')
    const { id } = await keys.service.database.prisma.browserSession.findFirstOrThrow({ orderBy: { id: 'desc' } })
    const isSignedIn = async () =>
      (await keys.service.fetch('/v1/auth/passkeys', { headers: { cookie } })).status === 200
    expect(await isSignedIn()).toBe(true)
    expect(await outcomeOf(await revoke(id))).toBe('200')
    expect(await isSignedIn()).toBe(false)
    expect(await outcomeOf(await revoke(id))).toBe('404 not_found')
  })

  it('200 and 404: signs a device out by the form of the page', async () => {
    const { id, isSignedIn } = await signIn('by-form')
    const page = await (await open(path)).text()
    expect(page).toContain('&lt;b&gt;by-form&lt;/b&gt;')
    expect(await noticeOf(post(path, { action: 'sign-out', sessionId: id }))).toMatch(/^200 It is signed out/)
    expect(await isSignedIn()).toBe(false)
    expect(await noticeOf(post(path, { action: 'sign-out', sessionId: id }))).toMatch(/^404 It is not signed in/)
  })

  it('200: stays on the part of the list where the form was, and 400 signs nothing out', async () => {
    const { id, isSignedIn } = await signIn('on-page-two')
    await signIn('on-page-one')
    const { next } = await list('?limit=1')
    const second = `${path}?before=${next}`
    const page = await (await open(second)).text()
    expect(page).toContain(`<form method="post" action="${second}">`)
    const fields = { action: 'sign-out', sessionId: id }
    expect((await post(`${path}?before=x`, fields)).status).toBe(400)
    expect(await isSignedIn()).toBe(true)
    const signedOut = await (await post(second, fields)).text()
    expect(signedOut).toContain('It is signed out.')
    expect(signedOut).not.toContain('on-page-one')
  })

  it('400: refuses a place that is none, an id that is none, and a form without a device', async () => {
    for (const query of ['before=x', 'limit=0'])
      expect(await outcomeOf(await keys.service.fetch(`${DEVICES}?${query}`, { headers: keys.ada }))).toBe(
        '400 invalid_request',
      )
    expect(await outcomeOf(await revoke('1'))).toBe('400 invalid_request')
    expect((await open(`${path}?before=x`)).status).toBe(400)
    expect((await post(path, { action: 'sign-out' })).status).toBe(400)
  })

  it('401, 403 and 404: are for admins of the team only', async () => {
    const { id, isSignedIn } = await signIn('kept')
    for (const [by, outcome] of [
      [{}, '401 unauthorized'],
      [keys.member, '403 forbidden'],
      [keys.stranger, '404 not_found'],
    ] as const) {
      expect(await outcomeOf(await keys.service.fetch(DEVICES, { headers: by }))).toBe(outcome)
      expect(await outcomeOf(await revoke(id, by))).toBe(outcome)
    }
    expect(await isSignedIn()).toBe(true)
  })
})

describe('showTeamKeys and changeTeamKeys', () => {
  const path = `${HOME}/keys`
  const idOf = async (name: string) =>
    (await keys.service.database.prisma.serviceAccount.findFirstOrThrow({ where: { name } })).id
  const isGood = (key: string) => isGoodKey(keys.service, key)

  it('200: makes a service account with a key that is shown once, rotates and revokes it, deletes the account', async () => {
    expect(await noticeOf(post(path, { action: 'create-account', account: 'nightly' }))).toMatch(/^200 The service/)
    const accountId = await idOf('nightly')
    const made = await post(path, { action: 'create-key', accountId, name: 'job', model: 'svc/fast' })
    const key = await shownKey(made)
    expect(await isGood(key)).toBe(true)
    const page = await (await open(path)).text()
    expect(page).toContain('only <span class="name">svc/fast</span>')
    expect(page).not.toContain(key)

    const { id: keyId } = await keys.service.database.prisma.apiKey.findFirstOrThrow({ where: { name: 'job' } })
    const rotated = await post(path, { action: 'rotate-key', accountId, keyId, overlapSeconds: '0' })
    const next = await shownKey(rotated)
    expect([await isGood(key), await isGood(next)]).toEqual([false, true])
    expect(await noticeOf(post(path, { action: 'revoke-key', accountId, keyId }))).toMatch(/^404 There is no such key/)
    const replacing = await keys.service.database.prisma.apiKey.findFirstOrThrow({
      where: { name: 'job', revokedAt: null, replacedById: null },
    })
    expect(await noticeOf(post(path, { action: 'revoke-key', accountId, keyId: replacing.id }))).toMatch(/^200 The key/)
    expect(await isGood(next)).toBe(false)
    expect(await noticeOf(post(path, { action: 'delete-account', accountId }))).toMatch(/^200 The service account and/)
    expect(await noticeOf(post(path, { action: 'delete-account', accountId }))).toMatch(/^404 The team has no such/)
  })

  it('200 and 409: makes no second key of a form that is sent again, which its browser is shown again', async () => {
    await post(path, { action: 'create-account', account: 'once' })
    await post(path, { action: 'create-account', account: 'twice' })
    const formId = /name="formId" value="([^"]+)"/.exec(await (await open(path)).text())?.[1] ?? ''
    const wanted = { action: 'create-key', accountId: await idOf('once'), name: 'once', formId }
    const browser = { cookie: await signInBrowser(keys.service, 'ada@example.com') }
    const made = await shownKey(await post(path, wanted, browser))
    expect(await isGood(made)).toBe(true)
    expect(await shownKey(await post(path, wanted, browser))).toBe(made)
    const again = await post(path, wanted)
    expect(await noticeOf(Promise.resolve(again))).toMatch(/^409 This form was sent before/)
    expect(await again.text()).not.toContain('class="secret"')
    expect(await noticeOf(post(path, { ...wanted, accountId: await idOf('twice') }))).toBe('200 The key is created.')
    expect(await keys.service.database.prisma.apiKey.count({ where: { name: 'once' } })).toBe(2)
  })

  it('400, 403, 404 and 409: says why nothing was made', async () => {
    await post(path, { action: 'create-account', account: 'again' })
    const accountId = await idOf('again')
    expect(await noticeOf(post(path, { action: 'create-account', account: 'again' }))).toMatch(/^409 The team has a/)
    const misnamed = await post(path, { action: 'create-account', account: 'Not a name' })
    expect(await noticeOf(Promise.resolve(misnamed))).toMatch(/^400 A name has 1 to 64 of a-z/)
    expect(await misnamed.text()).toMatch(/id="account"\s+name="account"\s+value="Not a name"/)
    const wanted = { action: 'create-key', accountId, name: 'x' }
    expect(await noticeOf(post(path, { ...wanted, model: 'svc/gone' }))).toMatch(/^400 The team does not have/)
    const stale = await post(path, { ...wanted, name: 'typed' }, keys.adaStale)
    expect(await noticeOf(Promise.resolve(stale))).toMatch(/^403 This needs a sign-in/)
    expect(await stale.text()).toMatch(/name="name"\s+value="typed"/)
    expect(await noticeOf(post(path, { ...wanted, accountId: UNKNOWN }))).toMatch(/^404 The team has no such/)
    expect(await (await open(path, keys.adaStale)).text()).not.toContain('value="create-key"')
  })

  it('400 and 409: leaves the form that was refused filled in', async () => {
    await post(path, { action: 'create-account', account: 'filled' })
    await post(path, { action: 'create-account', account: 'other' })
    const taken = await post(path, { action: 'create-account', account: 'filled' })
    expect(await taken.text()).toMatch(/id="account"\s+name="account"\s+value="filled"/)
    const accountId = await idOf('filled')
    const wanted = { action: 'create-key', accountId, name: 'nightly "job"', model: 'svc/gone', expiresInDays: '30' }
    const page = await (await post(path, wanted)).text()
    expect(page.match(/name="name"\s+value="[^"]+"/g)).toEqual([
      expect.stringContaining('value="nightly &quot;job&quot;"') as unknown,
    ])
    const form = page.slice(page.indexOf(`id="account-${accountId}"`))
    expect(form.slice(0, form.indexOf('</section>'))).toMatch(/nightly[^]*<option value="30" selected>/)
  })
})

describe('changeTeamModels', () => {
  const path = '/teams/acme/other/models'
  const change = (action: string, model: string) => noticeOf(post(path, { action, model }, keys.stranger))
  const changesLogged = () =>
    keys.service.log
      .filter(({ event }) => /^team(_model)?\./.test(event))
      .map(({ event, fields }) => ({ event, fields }))

  it('200: chooses the default model, and deletes a model that an admin has added', async () => {
    expect(await change('set-default', 'svc/deep')).toBe('200 The default model is changed.')
    expect(await (await open(path, keys.stranger)).text()).toContain('<option value="svc/deep" selected>')
    const { prisma } = keys.service.database
    const { id: teamId } = await prisma.team.findFirstOrThrow({ where: { name: 'other' } })
    const own = { id: 'acme/other/own', displayName: 'Own', serve: [{ backend: 'vendora', model: 'deep-1' }] }
    await prisma.adminModel.create({ data: { ...own, teamId, createdAt: keys.service.clock.now() } })
    expect(await change('delete', own.id)).toMatch(/^200 The model is deleted/)
    expect(await prisma.adminModel.count()).toBe(0)
    const by = { teamId, by: await accountIdOf(keys.service, 'stranger@example.com') }
    expect(changesLogged()).toEqual([
      { event: 'team.default_model_changed', fields: { ...by, model: 'svc/deep' } },
      { event: 'team_model.deleted', fields: { ...by, model: own.id } },
    ])
  })

  it('400, 404 and 409: says why nothing was changed', async () => {
    expect(await change('set-default', 'svc/gone')).toMatch(/^400 The team does not have this model/)
    expect(await change('delete', 'acme/other/gone')).toMatch(/^404 The admins of the team have added no such/)
    expect(await change('delete', 'svc/deep')).toMatch(/^409 The directory file lists this model/)
    const fields = { action: 'set-default', model: 'svc/deep' }
    expect(await noticeOf(post(`${HOME}/models`, fields))).toMatch(/^409 The directory file sets the default/)
    expect(await (await open(`${HOME}/models`)).text()).not.toContain('value="set-default"')
  })
})

describe('changeTeamModels with what admins add', () => {
  const path = `${HOME}/models`
  const change = (action: string, fields: FormFields, by = keys.ada) => noticeOf(post(path, { action, ...fields }, by))
  const servedBy = (...rows: readonly (readonly [place: string, backend: string, model: string, when?: string])[]) => ({
    servePlace: [...rows.map(([place]) => place), '9'],
    serveBackend: [...rows.map(([, backend]) => backend), ''],
    serveModel: [...rows.map(([, , model]) => model), ''],
    serveWhen: [...rows.map(([, , , when = 'always']) => when), 'always'],
    serveShare: [...rows.map((_row, at) => String(at + 1)), '1'],
  })
  const BACKEND = 'acme/core/vendor'
  const MODEL = 'acme/core/writer'
  const backend = { url: 'https://api.vendor.example', chat: '1', responses: '1' }
  const model = { displayName: 'Writer', ...servedBy(['1', 'vendora', 'fast-1']) }
  const rows = () => keys.service.database.prisma

  it('200: adds, changes and deletes a backend, and never shows its credential', async () => {
    const credential = 'sk-typed-in-the-page'
    expect(await change('add-backend', { ...backend, basePath: '/api/v3', backend: 'vendor', credential })).toMatch(
      /^200 The backend is saved/,
    )
    const row = () => rows().adminBackend.findUniqueOrThrow({ where: { name: BACKEND } })
    expect(await row()).toMatchObject({ basePath: '/api/v3' })
    const kept = await change('change-backend', { url: backend.url, messages: '1', backend: BACKEND, credential: '' })
    expect(kept).toMatch(/^200 The backend is saved/)
    expect(await row()).toMatchObject({ basePath: '/v1', dialects: ['messages'], credentialAs: 'bearer' })
    const moved = { ...backend, backend: BACKEND, credential: '', credentialAs: 'x-api-key' }
    expect(await change('change-backend', moved)).toBe(
      '400 The backend was not saved. Credential: must be typed again when &quot;Sent as&quot; changes.',
    )
    await change('change-backend', { ...moved, credential })
    expect(await row()).toMatchObject({ credentialAs: 'x_api_key' })
    const page = await (await open(path)).text()
    expect(page).toContain(BACKEND)
    expect(page).toContain('https://api.vendor.example · API at /v1<')
    expect(page).toMatch(/name="basePath"\s+value="\/v1"(?![^>]*\srequired)/)
    expect(page).toMatch(/type="password"[^>]*autocomplete="off"/)
    expect(page).not.toContain(credential)
    await change('change-backend', { ...backend, backend: BACKEND, removeCredential: '1' })
    expect(await row()).toMatchObject({ encryptedCredential: null })
  })

  it('200: adds and changes a model, and keeps what it has no field for', async () => {
    expect(await change('add-model', { ...model, model: 'writer', aliases: 'pen, quill' })).toMatch(/^200 The model is/)
    const fields = { model: MODEL, by: await accountIdOf(keys.service, 'ada@example.com') }
    expect(keys.service.log).toContainEqual({
      level: 'info',
      event: 'team_model.saved',
      fields: expect.objectContaining(fields) as unknown,
    })
    const caps = { images: true }
    const entry = { backend: 'vendora', model: 'fast-1', when: 'always', rank: 0, weight: 1, caps: { pdf: true } }
    await rows().adminModel.update({ where: { id: MODEL }, data: { caps, published: false, serve: [entry] } })
    const changed = { ...model, model: MODEL, displayName: 'Author', contextWindow: '1000' }
    expect(await change('change-model', changed)).toMatch(/^200 The model is saved/)
    const row = () => rows().adminModel.findUniqueOrThrow({ where: { id: MODEL } })
    expect(await row()).toMatchObject({
      displayName: 'Author',
      contextWindow: 1000,
      caps,
      serve: [entry],
      published: false,
      aliases: [],
    })
  })

  it('200: saves a form as it was opened without setting the context window that the model inherits', async () => {
    const field = async () => {
      const page = await (await open(path)).text()
      const start = page.indexOf(`<label for="${MODEL}-contextWindow"`)
      return page.slice(start, page.indexOf('</div>', start)).replaceAll(/\s+/g, ' ')
    }
    const changed = { ...model, model: MODEL, contextWindow: '' }
    expect(await change('change-model', changed)).toMatch(/^200 The model is saved/)
    expect(await field()).toMatch(/<small>empty: inherited, 200,000<\/small>.* value="" /)
    await change('change-model', { ...changed, contextWindow: '1000' })
    expect(await field()).toMatch(/<small>empty: inherited<\/small>.* value="1000" /)
  })

  it('200: changes the order of several backends, their shares, and when they are asked', async () => {
    const fields = { model: MODEL, displayName: 'Planned' }
    const serve = servedBy(['2', 'vendora', 'fast-1', 'offline'], ['1', BACKEND, 'a'], ['1', BACKEND, 'b'])
    expect(await change('change-model', { ...fields, ...serve })).toMatch(/^200 The model is saved/)
    expect(await rows().adminModel.findUniqueOrThrow({ where: { id: MODEL } })).toMatchObject({
      displayName: 'Planned',
      serve: [
        { backend: BACKEND, model: 'a', when: 'always', rank: 0, weight: 2 },
        { backend: BACKEND, model: 'b', when: 'always', rank: 0, weight: 3 },
        { backend: 'vendora', model: 'fast-1', when: 'offline', rank: 1, weight: 1 },
      ],
    })
    const page = await (await open(path)).text()
    expect(page.match(/name="servePlace"[^>]*value="\d"/g)).toHaveLength(6)
  })

  it('400, 403, 404 and 409: says why nothing was saved, and keeps what was typed but the credential', async () => {
    const wrong = { ...backend, url: 'https://evil.example', backend: 'wrong', credential: 'sk-typed' }
    const refused = await post(path, { action: 'add-backend', ...wrong })
    const text = await refused.clone().text()
    expect(await noticeOf(Promise.resolve(refused))).toMatch(
      /^400 The backend was not saved. URL, without \/v1: the operator/,
    )
    expect(text).toContain('value="https://evil.example"')
    expect(text).not.toContain('sk-typed')
    expect(text).toMatch(/id="new-backend-credential-mistake">Type it again: a form that is refused does not keep it/)
    expect(await change('add-backend', { ...backend, backend: 'vendor' })).toMatch(
      /^409 Nothing was changed. Name: the team has a backend with/,
    )
    expect(await change('change-backend', { ...backend, backend: 'gone' })).toMatch(/^404 The admins of the team have/)
    expect(await change('delete-backend', { backend: 'gone' })).toMatch(
      /^404 The admins of the team have added no such/,
    )
    expect(await change('delete-backend', { backend: BACKEND })).toMatch(/^409 Nothing was changed. Models of the team/)
    const stale = await post(path, { action: 'add-backend', ...backend, backend: 'typed' }, keys.adaStale)
    expect(await noticeOf(Promise.resolve(stale))).toMatch(/^403 This needs a sign-in/)
    expect(await stale.text()).toMatch(/name="backend"\s+value="typed"/)
    expect(await (await open(path, keys.adaStale)).text()).not.toContain('value="add-backend"')
    expect(await change('add-model', { ...model, model: 'writer' })).toMatch(
      /^409 The model was not saved. Name: the team has a model with/,
    )
    expect(await change('add-model', { ...model, model: 'x', aliases: 'quick' })).toMatch(
      /^409 The model was not saved/,
    )
    const unknown = { ...model, ...servedBy(['1', 'vendora', 'unknown']), model: 'x' }
    expect(await change('add-model', unknown)).toMatch(/^400 The model was not/)
    const offline = { ...model, ...servedBy(['1', 'vendora', 'fast-1', 'offline']), model: 'x' }
    expect(await change('add-model', offline)).toMatch(/^400 The model was not saved. When \(row 1\): must be always/)
    const much = await post(path, { action: 'add-model', ...model, model: 'x', contextWindow: 'much' })
    expect(await noticeOf(Promise.resolve(much))).toBe(
      '400 The model was not saved. Context in tokens: must be a whole number.',
    )
    expect(await much.text()).toMatch(
      /Must be a whole number\.<\/p>\s*<input[^>]*value="much"[^>]*aria-describedby="new-model-contextWindow-mistake" autofocus/,
    )
    const named = await post(path, { action: 'add-model', ...model, model: 'a b' })
    expect(await named.text()).toMatch(
      /Must have 1 to 64 letters[^<]*<\/p>\s*<input[^>]*value="a b"[^>]*aria-invalid="true"/,
    )
    expect(await (await post(path, { action: 'add-backend', ...backend, backend: 'a b' })).text()).toMatch(
      /Must have 1 to 64 of a-z[^<]*<\/p>\s*<input[^>]*value="a b"[^>]*aria-invalid="true"/,
    )
    expect(await change('change-model', { ...model, model: 'gone' })).toMatch(/^404 The admins of the team have added/)
    expect((await post(path, { action: 'delete' })).status).toBe(400)
  })

  it('409: a form that another admin was faster than replaces nothing, and shows what was typed', async () => {
    const versionIn = (page: string, id: string) =>
      new RegExp(`value="${id}" />\\s+<input type="hidden" name="version" value="([^"]+)"`).exec(page)?.[1] ?? ''
    const opened = await (await open(path)).text()
    const mine = { ...model, model: MODEL, displayName: 'Mine', version: versionIn(opened, MODEL) }
    const ofBackend = { ...backend, backend: BACKEND, version: versionIn(opened, BACKEND) }
    expect(await change('change-model', { ...mine, displayName: 'Theirs' })).toMatch(/^200 The model is saved/)
    expect(await change('change-backend', { ...ofBackend, basePath: '/v2' })).toMatch(/^200 The backend is saved/)

    const refused = await post(path, { action: 'change-model', ...mine })
    expect(await noticeOf(Promise.resolve(refused))).toMatch(/^409 The model was not saved. It was changed after you/)
    const page = await refused.text()
    expect(page).toMatch(/<span class="name">Theirs<\/span>[^]*value="Mine"/)
    expect(await change('change-backend', ofBackend)).toMatch(/^409 Nothing was changed. It was changed after you/)
    expect(await rows().adminModel.findUniqueOrThrow({ where: { id: MODEL } })).toMatchObject({ displayName: 'Theirs' })
    const again = await change('change-model', { ...mine, version: versionIn(page, MODEL) })
    expect(again).toMatch(/^200 The model is saved/)
  })

  it('200: deletes the model, and then its backend', async () => {
    expect(await change('delete', { model: MODEL })).toMatch(/^200 The model is deleted/)
    expect(await change('delete-backend', { backend: BACKEND })).toMatch(/^200 The backend is deleted/)
  })
})

describe('showTeamAudit', () => {
  const path = `${HOME}/audit`

  it('200: lists the changes in pages', async () => {
    const { prisma } = keys.service.database
    const { id: teamId } = await prisma.team.findFirstOrThrow({ where: { name: 'core' } })
    const at = keys.service.clock.now()
    const data = Array.from({ length: 60 }, (_, index) => ({
      teamId,
      at,
      kind: 'api_key.created',
      details: { name: `<i>key ${index}</i>` },
    }))
    await prisma.auditEvent.createMany({ data })
    const first = await (await open(path)).text()
    expect(first).toContain('API key created')
    expect(first).toContain('&lt;i&gt;key 59&lt;/i&gt;')
    const next = /href="([^"]+before=[^"]+)"/.exec(first)?.[1] ?? ''
    const second = await (await open(next)).text()
    expect(second).toContain('&lt;i&gt;key 9&lt;/i&gt;')
    expect(second).not.toContain('&lt;i&gt;key 10&lt;/i&gt;')
  })

  it('200: writes the details of a change for people, and its name once', async () => {
    const { prisma } = keys.service.database
    const { id: teamId } = await prisma.team.findFirstOrThrow({ where: { name: 'core' } })
    const details = {
      name: 'grace@example.com, day',
      of: UNKNOWN,
      keys: [UNKNOWN],
      subject: 'service_account',
      amountNanoUsd: 2_500_000_000,
      models: ['svc/fast', 'svc/deep'],
      expiresAt: '2027-02-21T22:26:21.845Z',
      reason: 'signed_out_by_admin',
    }
    await prisma.auditEvent.create({
      data: { teamId, at: keys.service.clock.now(), kind: 'spending_limit.created', details },
    })
    const page = await (await open(path)).text()
    const row = page.split('<tr>').find((one) => one.includes('Spending limit created'))
    expect(row?.match(/grace@example\.com/g)).toHaveLength(1)
    expect(row).not.toContain(UNKNOWN)
    expect(row).toContain(
      'models svc/fast svc/deep, reason signed out by admin, subject service account, expires at 21 Feb 2027, 22:26 UTC, amount $2.50</small>',
    )
  })

  it('400: refuses a place that is none', async () => {
    expect((await open(`${path}?before=x`)).status).toBe(400)
  })
})

it.each(['/members?after=ada%40example.com', `/devices?before=1_${UNKNOWN}`, `/audit?before=1-1`])(
  'the page %s of a list leads back to its first page, which does not lead to itself',
  async (path) => {
    const [first = ''] = path.split('?')
    const link = `href="${HOME}${first}">First page</a>`
    expect(await (await open(HOME + path)).text()).toContain(link)
    expect(await (await open(HOME + first)).text()).not.toContain(link)
  },
)

describe.each(['/members', '/devices', '/keys', '/audit'])('the page %s of a team', (page) => {
  it('401, 403 and 404: is for admins of the team only', async () => {
    const path = HOME + page
    expect((await keys.service.fetch(path, { headers: HTML })).status).toBe(401)
    const asMember = await open(path, keys.member)
    expect(asMember.status).toBe(403)
    expect(await asMember.text()).toContain('Only admins of the team can do this.')
    expect((await open(path, keys.stranger)).status).toBe(404)
    expect(await (await open(HOME, keys.member)).text()).not.toContain(`href="${path}"`)
  })
})

describe.each([
  ['/members', { action: 'invite', email: 'evil@example.com' }],
  ['/models', { action: 'set-default', model: '' }],
  ['/limits', { action: 'create', whose: 'team', period: 'day', amount: '1' }],
  ['/devices', { action: 'sign-out', sessionId: UNKNOWN }],
  ['/keys', { action: 'create-account', account: 'evil' }],
])('the forms of the page %s of a team', (page, fields) => {
  const path = HOME + page

  it('401, 403 and 404: are for admins of the team only, on pages of this site', async () => {
    expect((await post(path, fields, {})).status).toBe(401)
    expect((await post(path, fields, keys.member)).status).toBe(403)
    expect((await post(path, fields, keys.stranger)).status).toBe(404)
    const evil = await post(path, fields, { ...keys.ada, origin: 'https://evil.example' })
    expect(evil.status).toBe(403)
    expect(await evil.text()).toContain('Requests from pages of other sites are not allowed here.')
    expect(await keys.service.database.prisma.account.count({ where: { email: 'evil@example.com' } })).toBe(0)
  })

  it('400, 413 and 415: are refused when they are malformed', async () => {
    expect((await post(path, { ...fields, surprise: '1' })).status).toBe(400)
    expect((await post(path, { ...fields, action: 'explode' })).status).toBe(400)
    expect((await post(path, { ...fields, padding: 'x'.repeat(17_000) })).status).toBe(413)
    const headers = { ...HTML, ...keys.ada, 'content-type': 'text/plain' }
    expect((await keys.service.fetch(path, { method: 'POST', headers, body: 'action=invite' })).status).toBe(415)
  })
})

describe('a form of a team that was refused for one field', () => {
  it.each([
    ['/members', { action: 'invite', email: 'no address' }, 'email'],
    ['/members', { action: 'invite', email: 'member@example.com' }, 'email'],
    ['/keys', { action: 'create-account', account: 'Not a name' }, 'account'],
    ['/limits', { action: 'create', whose: 'team', period: 'day', amount: 'much' }, 'amount'],
    ['/limits', { action: 'create', whose: 'member:gone@example.com', period: 'day', amount: '1' }, 'whose'],
  ])('on %s says at the field what is wrong: %o', async (page, fields, id) => {
    const text = await (await post(HOME + page, fields)).text()
    expect(text.match(/aria-describedby="[^"]+" autofocus/g)).toEqual([`aria-describedby="${id}-mistake" autofocus`])
    expect(text).toMatch(new RegExp(`id="${id}"[^>]*aria-invalid="true"`))
    expect(text).toMatch(new RegExp(`<p class="mistake" id="${id}-mistake">[A-Z][^<]+</p>`))
  })
})
