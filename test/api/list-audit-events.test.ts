import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { AuditEvent, AuditEventList, DeviceList, TeamInvitation, TeamMemberList } from '../../generated/openapi.ts'
import { contractOf, readContract, routesOf } from '../../src/http/contract.ts'
import type { OperationId } from '../../src/http/operation.ts'
import { newKeyMaterial } from '../../src/kernel/secret.ts'
import { startTeamWithModels } from '../support/team-with-models.ts'
import type { TeamWithModels, NewKey } from '../support/team-with-models.ts'
import { addPasskey, newAuthenticator, signInWithPasskey } from '../support/passkeys.ts'
import { bearerOf, expectJson, expectOk, form, json, messageOf, outcomeOf } from '../support/requests.ts'
import { consumeSignInLink, requestSignInLink } from '../support/sign-in-links.ts'

const TEAM = '/v1/teams/%40acme%2Fcore'
const PATH = `${TEAM}/audit`
const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code'

let keys: TeamWithModels
beforeAll(async () => {
  keys = await startTeamWithModels({
    SVC_ADMIN_BACKEND_HOSTS: 'api.vendor.example',
    SVC_SECRET_KEY: newKeyMaterial().reveal(),
  })
})
afterAll(() => keys[Symbol.asyncDispose]())

const list = (query = '') => expectJson<AuditEventList>('The audit events', keys.send('GET', `${PATH}${query}`))
const made = <T>(path: string, body: object) => expectJson<T>(`POST ${path}`, keys.send('POST', path, body))

// ---- Every change has an audit event --------------------------------------------------------------------------------

/** What each operation leaves in the audit log, and a request that does it. */
type Change = { readonly action: string; readonly make: () => Promise<Response> }

const remembered = { passkey: '', login: '', oauthCode: '', oauthToken: '' }
const authenticator = newAuthenticator()

/** A device of ada's that is signed in. */
const signIn = async () =>
  (await keys.service.signIn('ada@example.com', { deviceId: 'walk', team: '@acme/core' })).accessToken
const invited = async (email: string) => made<TeamInvitation>(`${TEAM}/invitations`, { email })
const memberOf = async (email: string) => {
  await invited(email)
  const { members } = await expectJson<TeamMemberList>('The members', keys.send('GET', `${TEAM}/members`))
  return members.find((member) => member.email === email)?.id ?? ''
}
const serviceAccount = async (name: string) => (await made<{ id: string }>(`${TEAM}/service-accounts`, { name })).id
const keyOf = async (account: string) => {
  const path = `${TEAM}/service-accounts/${account}/keys`
  return `${path}/${(await made<NewKey>(path, { name: 'nightly' })).info.id}`
}
const modelPath = (name: string) => `${TEAM}/models/acme%2Fcore%2F${name}`
const putModel = (name: string) =>
  keys.send('PUT', modelPath(name), { displayName: 'Own', serve: [{ backend: 'vendora', model: 'fast-1' }] })
const backendPath = (name: string) => `${TEAM}/backends/acme%2Fcore%2F${name}`
const putBackend = (name: string) =>
  keys.send('PUT', backendPath(name), { dialects: ['chat'], url: 'https://api.vendor.example' })
const sendForm = (page: string, fields: Record<string, string>) =>
  keys.service.fetch(`/teams/acme/core/${page}`, form(fields, keys.ada))
const sessionOf = async (deviceId: string) => {
  await keys.service.signIn('member@example.com', { deviceId, team: '@acme/core' })
  const { prisma } = keys.service.database
  return (await prisma.deviceSession.findFirstOrThrow({ where: { deviceId, revokedAt: null } })).id
}

const LIMITS = `${TEAM}/limits`
const limitOf = async (period: string) =>
  (await made<{ id: string }>(LIMITS, { subject: 'team', period, amountNanoUsd: 1_000_000_000 })).id
const start = (path: string) => async () => {
  const response = await keys.service.fetch(path, json({ email: 'ada@example.com', deviceId: 'walk' }))
  remembered.login = ((await response.clone().json()) as { deviceCode: string }).deviceCode
  return response
}

/** In this order: later ones use what earlier ones have made. */
const CHANGES: Partial<Record<OperationId, Change>> = {
  startLogin: { action: 'device_login.started', make: start('/v1/auth/login/start') },
  startDeviceLogin: { action: 'device_login.started', make: start('/v1/auth/device/start') },
  consumeMagicLink: {
    action: 'device_login.approved',
    make: () => keys.service.approveByMail('ada@example.com'),
  },
  pollDeviceLogin: {
    action: 'device_session.opened',
    make: () => keys.service.fetch('/v1/auth/device/poll', json({ deviceCode: remembered.login })),
  },
  authorizeDevice: {
    action: 'device_login.started',
    async make() {
      const response = await keys.service.fetch('/oauth/device_authorization', form({ client_id: 'walk' }))
      const started = (await response.clone().json()) as { device_code: string; user_code: string }
      remembered.oauthCode = started.device_code
      remembered.login = started.user_code
      return response
    },
  },
  approveDevice: {
    action: 'device_login.approved',
    make: () => keys.send('POST', '/device', { userCode: remembered.login }),
  },
  issueOAuthTokens: {
    action: 'device_session.opened',
    async make() {
      const fields = { grant_type: DEVICE_GRANT, device_code: remembered.oauthCode, client_id: 'walk' }
      const response = await keys.service.fetch('/oauth/token', form(fields))
      remembered.oauthToken = ((await response.clone().json()) as { refresh_token: string }).refresh_token
      return response
    },
  },
  revokeOAuthToken: {
    action: 'device_session.revoked',
    make: () => keys.service.fetch('/oauth/revoke', form({ token: remembered.oauthToken, client_id: 'walk' })),
  },
  requestSignInLink: {
    action: 'sign_in_link.requested',
    async make() {
      remembered.login = await requestSignInLink(keys.service, 'ada@example.com')
      return new Response()
    },
  },
  consumeSignInLink: {
    action: 'browser_session.opened',
    make: () => consumeSignInLink(keys.service, remembered.login),
  },
  finishPasskeyRegistration: {
    action: 'passkey.added',
    async make() {
      remembered.passkey = await addPasskey(keys.service, bearerOf(await signIn()), authenticator)
      return new Response()
    },
  },
  finishPasskeyLogin: {
    action: 'device_session.opened',
    make: () => signInWithPasskey(keys.service, authenticator, { deviceId: 'walk-passkey' }),
  },
  renamePasskey: {
    action: 'passkey.renamed',
    make: () => keys.send('PATCH', `/v1/auth/passkeys/${remembered.passkey}`, { name: 'Phone' }),
  },
  deletePasskey: {
    action: 'passkey.removed',
    make: () => keys.send('DELETE', `/v1/auth/passkeys/${remembered.passkey}`),
  },
  logout: {
    action: 'device_session.revoked',
    make: async () => keys.service.fetch('/v1/auth/logout', { method: 'POST', headers: bearerOf(await signIn()) }),
  },
  revokeDevice: {
    action: 'device_session.revoked',
    async make() {
      await signIn()
      const { devices } = await expectJson<DeviceList>('The devices', keys.send('GET', '/v1/devices'))
      return keys.send('DELETE', `/v1/devices/${devices.find(({ deviceId }) => deviceId === 'walk')?.id}`)
    },
  },
  logoutEverywhere: {
    action: 'device_session.revoked',
    async make() {
      await signIn()
      return keys.send('POST', '/v1/auth/logout-everywhere', { scope: 'others' })
    },
  },
  createInvitation: {
    action: 'invitation.created',
    make: () => keys.send('POST', `${TEAM}/invitations`, { email: 'new@example.com' }),
  },
  withdrawInvitation: {
    action: 'invitation.withdrawn',
    make: async () => keys.send('DELETE', `${TEAM}/invitations/${(await invited('gone@example.com')).id}`),
  },
  changeMember: {
    action: 'invitation.changed',
    make: async () => keys.send('PATCH', `${TEAM}/members/${await memberOf('role@example.com')}`, { role: 'admin' }),
  },
  removeMember: {
    action: 'invitation.withdrawn',
    make: async () => keys.send('DELETE', `${TEAM}/members/${await memberOf('removed@example.com')}`),
  },
  putTeamModel: { action: 'model.created', make: () => putModel('walk') },
  deleteTeamModel: {
    action: 'model.deleted',
    async make() {
      await expectOk('The model', putModel('gone'))
      return keys.send('DELETE', modelPath('gone'))
    },
  },
  putTeamBackend: { action: 'backend.created', make: () => putBackend('walk') },
  deleteTeamBackend: {
    action: 'backend.deleted',
    async make() {
      await expectOk('The backend', putBackend('gone'))
      return keys.send('DELETE', backendPath('gone'))
    },
  },
  changeTeam: {
    action: 'team.default_model_changed',
    make: () => keys.send('PATCH', '/v1/teams/%40acme%2Fother', { defaultModel: 'svc/deep' }, keys.stranger),
  },
  applyDirectory: {
    action: 'invitation.created',
    async make() {
      const directory =
        'organizations: [{ name: acme, teams: [{ name: core, members: [{ email: walk@example.com }] }] }]'
      const { fingerprint } = await made<{ fingerprint: string }>('/v1/directory/plan', { directory })
      return keys.send('POST', '/v1/directory/apply', { directory, fingerprint })
    },
  },
  createApiKey: { action: 'api_key.created', make: () => keys.send('POST', '/v1/keys', { name: 'walk' }) },
  rotateApiKey: {
    action: 'api_key.rotated',
    make: async () => keys.send('POST', `/v1/keys/${(await keys.createKey()).info.id}/rotate`, {}),
  },
  revokeApiKey: {
    action: 'api_key.revoked',
    make: async () => keys.send('DELETE', `/v1/keys/${(await keys.createKey()).info.id}`),
  },
  createServiceAccount: {
    action: 'service_account.created',
    make: () => keys.send('POST', `${TEAM}/service-accounts`, { name: 'walk' }),
  },
  deleteServiceAccount: {
    action: 'service_account.deleted',
    make: async () => keys.send('DELETE', `${TEAM}/service-accounts/${await serviceAccount('deleted')}`),
  },
  createServiceAccountKey: {
    action: 'api_key.created',
    make: async () =>
      keys.send('POST', `${TEAM}/service-accounts/${await serviceAccount('created')}/keys`, { name: 'x' }),
  },
  rotateServiceAccountKey: {
    action: 'api_key.rotated',
    make: async () => keys.send('POST', `${await keyOf(await serviceAccount('rotated'))}/rotate`, {}),
  },
  revokeServiceAccountKey: {
    action: 'api_key.revoked',
    make: async () => keys.send('DELETE', await keyOf(await serviceAccount('revoked'))),
  },
  createSpendingLimit: {
    action: 'spending_limit.created',
    make: () => keys.send('POST', LIMITS, { subject: 'team', period: 'day', amountNanoUsd: 1_000_000_000 }),
  },
  changeSpendingLimit: {
    action: 'spending_limit.changed',
    make: async () => keys.send('PATCH', `${LIMITS}/${await limitOf('week')}`, { amountNanoUsd: 2_000_000_000 }),
  },
  removeSpendingLimit: {
    action: 'spending_limit.removed',
    make: async () => keys.send('DELETE', `${LIMITS}/${await limitOf('month')}`),
  },
  revokeTeamDevice: {
    action: 'device_session.revoked',
    make: async () => keys.send('DELETE', `${TEAM}/devices/${await sessionOf('by-admin')}`),
  },
  changeTeamMembers: {
    action: 'invitation.created',
    make: () => sendForm('members', { action: 'invite', email: 'form@example.com' }),
  },
  changeTeamModels: {
    action: 'team.default_model_changed',
    make: () =>
      keys.service.fetch('/teams/acme/other/models', form({ action: 'set-default', model: '' }, keys.stranger)),
  },
  changeTeamLimits: {
    action: 'spending_limit.created',
    make: () => sendForm('limits', { action: 'create', whose: 'members', period: 'day', amount: '2.50' }),
  },
  changeTeamDevices: {
    action: 'device_session.revoked',
    make: async () => sendForm('devices', { action: 'sign-out', sessionId: await sessionOf('by-form') }),
  },
  changeTeamKeys: {
    action: 'service_account.created',
    make: () => sendForm('keys', { action: 'create-account', account: 'form' }),
  },
}

/** The operations that leave nothing in the audit log, and why. */
const NOT_AUDITED: Partial<Record<OperationId, string>> = {
  refreshTokens:
    'A device does it every few minutes. Only the use of an old token, which ends the session, is audited.',
  startPasskeyRegistration: 'It makes a challenge. Its end is audited.',
  planDirectory: 'It changes nothing.',
  resendInvitation: 'It changes nothing.',
  startPasskeyLogin: 'It makes a challenge. Its end is audited.',
}

describe('the audit log', () => {
  it('has a test for every operation of the control plane that changes something', () => {
    const changing = routesOf(contractOf(readContract(), 'control-plane')).filter(({ method }) => method !== 'get')
    expect([...Object.keys(CHANGES), ...Object.keys(NOT_AUDITED)].sort()).toEqual(changing.map(({ id }) => id).sort())
  })

  it.each(Object.entries(CHANGES))('has an event for %s', async (_id, { action, make }) => {
    const { prisma } = keys.service.database
    const newest = await prisma.auditEvent.findFirst({ orderBy: { id: 'desc' } })
    const response = await make()
    expect(response.status).toBeLessThan(400)
    const events = await prisma.auditEvent.findMany({ where: { id: { gt: newest?.id ?? 0 } } })
    expect(events.map(({ kind }) => kind)).toContain(action)
  })
})

// ---- The operation --------------------------------------------------------------------------------------------------

describe('listAuditEvents', () => {
  describe('200', () => {
    it('lists the changes of the team, the newest first, with who, what and from where', async () => {
      const { id } = await invited('listed@example.com')
      const { events } = await list()
      expect(events[0]).toMatchObject({
        at: keys.service.clock.now().toISOString(),
        action: 'invitation.created',
        actor: { kind: 'account', email: 'ada@example.com' },
        subject: 'listed@example.com',
        subjectId: id,
        ip: '127.0.0.1',
        details: { role: 'member' },
      })
      const order = events.map((event) => Number(event.id))
      expect(order).toEqual(order.toSorted((a, b) => b - a))
    })

    it('filters by actor, action and time', async () => {
      const kinds = async (query: string) => new Set((await list(query)).events.map(({ action }) => action))
      expect(await kinds('?actor=file')).toEqual(new Set(['team.created', 'invitation.created']))
      expect(await kinds('?actor=Ada%40example.com&action=service_account')).toEqual(
        new Set(['service_account.created', 'service_account.deleted']),
      )
      expect(await kinds('?action=service_account.deleted')).toEqual(new Set(['service_account.deleted']))
      expect(await kinds('?actor=nobody%40example.com')).toEqual(new Set())
      const byAda = await list('?actor=ada%40example.com&action=invitation.created&limit=500')
      // Not by the directory file, which has invited her.
      expect(new Set(byAda.events.map(({ actor }) => actor.email))).toEqual(new Set(['ada@example.com']))
      const now = encodeURIComponent(keys.service.clock.now().toISOString())
      expect(await kinds(`?to=${now}&from=${now}`)).toEqual(new Set())
      expect((await kinds(`?from=${now}`)).size).toBeGreaterThan(0)
    })

    it('takes the characters unencoded that a query may have', async () => {
      const found = await list('?actor=ada@example.com&action=service_account.created&from=2020-01-01T00:00:00Z')
      expect(found.events.length).toBeGreaterThan(0)
    })

    it('gives pages that follow each other without a gap', async () => {
      const whole = (await list('?limit=500')).events
      const paged: AuditEvent[] = []
      for (let next: string | null = ''; next !== null;) {
        const page: AuditEventList = await list(`?limit=7${next && `&before=${next}`}`)
        paged.push(...page.events)
        next = page.next
      }
      expect(paged).toEqual(whole)
    })

    it('shows no events of other teams', async () => {
      const other = await expectJson<AuditEventList>(
        'The events of the other team',
        keys.send('GET', '/v1/teams/%40acme%2Fother/audit', undefined, keys.stranger),
      )
      const ids = new Set((await list('?limit=500')).events.map(({ id }) => id))
      expect(other.events.length).toBeGreaterThan(0)
      expect(other.events.filter(({ id }) => ids.has(id))).toEqual([])
    })
  })

  describe('400', () => {
    it.each([
      'actor=nobody',
      'action=a%20b',
      'from=yesterday',
      'from=0000-01-01T00%3A00%3A00Z',
      'from=2026-02-31T00%3A00%3A00Z',
      'to=2026-11-23T24%3A00%3A00Z',
      'limit=501',
      'before=x',
    ])('refuses %s', async (query) => {
      expect(await outcomeOf(await keys.send('GET', `${PATH}?${query}`))).toBe('400 invalid_request')
    })

    it.each([
      ['limit=many', 'The query parameter limit must be a whole number.'],
      ['limit=0', 'The query parameter limit must be at least 1.'],
      ['limit=Infinity', 'The query parameter limit must be a whole number.'],
      ['from=yesterday', 'The query parameter from must be a time such as 2026-11-26T09:00:00Z.'],
    ])('says what %s must be', async (query, message) => {
      expect(await messageOf(await keys.send('GET', `${PATH}?${query}`))).toBe(message)
    })
  })

  describe('401, 403, 404', () => {
    it('refuses members, and hides the team from other accounts', async () => {
      expect(await outcomeOf(await keys.service.fetch(PATH))).toBe('401 unauthorized')
      expect(await outcomeOf(await keys.send('GET', PATH, undefined, keys.member))).toBe('403 forbidden')
      expect(await outcomeOf(await keys.send('GET', PATH, undefined, keys.stranger))).toBe('404 not_found')
    })
  })
})
