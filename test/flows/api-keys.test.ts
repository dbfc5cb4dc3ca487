import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { contractOf, readContract, routesOf } from '../../src/http/contract.ts'
import type { Route } from '../../src/http/contract.ts'
import { newApiKey } from '../../src/kernel/credentials/api-key.ts'
import { isOpen } from '../support/contract/contract-request.ts'
import { startTeamWithModels } from '../support/team-with-models.ts'
import type { TeamWithModels, NewKey } from '../support/team-with-models.ts'
import { bearerOf, expectJson, expectOk, json, messageOf, outcomeOf } from '../support/requests.ts'
import { answersJson, completionOf, startUpstream } from '../support/upstream.ts'
import type { TestUpstream } from '../support/upstream.ts'

const MESSAGES = [{ role: 'user', content: 'Hello' }] as const
const answer = completionOf('fast-1')

let upstream: TestUpstream
let keys: TeamWithModels

beforeAll(async () => {
  upstream = await startUpstream(answersJson(answer))
  const { href } = upstream.url
  keys = await startTeamWithModels({ SVC_VENDORA_UPSTREAM_URL: href, SVC_VENDORB_UPSTREAM_URL: href })
})
beforeEach(() => upstream.restart(answersJson(answer)))
afterAll(async () => {
  await keys[Symbol.asyncDispose]()
  await upstream[Symbol.asyncDispose]()
})

const chat = (key: string, model = 'svc/fast') =>
  keys.service.fetch('/v1/chat/completions', json({ model, messages: MESSAGES }, bearerOf(key)))
const modelIds = async (key: string, path = '/v1/models') => {
  const response = await expectOk('The models', keys.service.fetch(path, { headers: bearerOf(key) }))
  return ((await response.json()) as { data: { id: string }[] }).data.map(({ id }) => id)
}

describe('an API key', () => {
  it('makes model calls, as a bearer token and on the routes of messages as x-api-key', async () => {
    const { key } = await keys.createKey()
    expect((await chat(key)).status).toBe(200)
    expect(upstream.last().rawHeaders.join(' ')).not.toContain('svck_')

    upstream.restart(
      answersJson({
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model: 'fast-1',
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { input_tokens: 1, output_tokens: 1 },
      }),
    )
    const body = { model: 'svc/fast', max_tokens: 5, messages: MESSAGES }
    for (const path of ['/vendorb/v1/messages', '/v1/messages']) {
      expect((await keys.service.fetch(path, json(body, { 'x-api-key': key }))).status).toBe(200)
    }
    expect(upstream.last().rawHeaders.join(' ')).not.toContain('svck_')
  })

  it('is refused as x-api-key elsewhere, with the header that the route reads', async () => {
    const { key } = await keys.createKey()
    const response = await keys.service.fetch('/v1/models', { headers: { 'x-api-key': key } })
    expect(response.status).toBe(401)
    expect(await messageOf(response)).toContain('Authorization: Bearer')
  })

  it('for some models sees, lists and calls only these, by every name', async () => {
    const { key } = await keys.createKey({ models: ['svc/deep'] })
    expect(await modelIds(key)).toEqual(['svc/deep'])
    expect(await modelIds(key, '/vendorb/v1/models')).toEqual(['svc/deep'])
    expect(await modelIds(key, '/codex/v1/models')).toEqual(['svc/deep'])
    const discovery = keys.service.fetch('/.well-known/opencode', { headers: bearerOf(key) })
    const { config } = await expectJson<{ config: { provider: { svc: { models: object } } } }>('opencode', discovery)
    expect(Object.keys(config.provider.svc.models)).toEqual(['svc/deep'])
    expect((await chat(key, 'svc/deep')).status).toBe(200)
    for (const model of ['svc/fast', 'quick', 'svc/hidden']) {
      const response = await chat(key, model)
      expect(response.status).toBe(403)
      expect(await messageOf(response)).toBe(`This API key may not call the model "${model}". It may call svc/deep.`)
    }
    const hidden = await keys.service.fetch('/v1/models/svc%2Ffast', { headers: bearerOf(key) })
    expect(await messageOf(hidden)).toBe('This API key has no such model. GET /v1/models lists its models.')
    const alternatives = json({ model: 'svc/deep', models: ['svc/fast'], messages: MESSAGES }, bearerOf(key))
    expect(await outcomeOf(await keys.service.fetch('/v1/chat/completions', alternatives))).toBe(
      '403 model_not_allowed',
    )
    const withoutModel = json({ messages: MESSAGES }, bearerOf(key))
    expect(await outcomeOf(await keys.service.fetch('/v1/chat/completions', withoutModel))).toBe(
      '403 model_not_allowed',
    )
    expect(upstream.calls).toHaveLength(1)
  })

  it('is named in the events of its calls, and shows its last use to the minute', async () => {
    const { key, info } = await keys.createKey()
    const team = '/v1/teams/%40acme%2Fcore/service-accounts'
    const send = (path: string, body: object) => keys.service.fetch(path, json(body, keys.ada))
    const account = await expectJson<{ id: string }>('The account', send(team, { name: 'builds' }))
    const made = await expectJson<NewKey>('The key', send(`${team}/${account.id}/keys`, { name: 'nightly' }))
    await (await chat(key)).text()
    await (await chat(made.key)).text()
    const { prisma } = keys.service.database
    const eventsOf = (keyId: string) => prisma.callEvent.findMany({ where: { keyId } })
    await expect.poll(() => eventsOf(made.info.id), { timeout: 5000 }).toHaveLength(1)
    expect(await eventsOf(info.id)).toMatchObject([{ serviceAccount: null, deviceSessionId: null, team: '@acme/core' }])
    expect(await eventsOf(made.info.id)).toMatchObject([
      { serviceAccount: 'service:builds', accountId: account.id, deviceSessionId: null },
    ])
    const lastUse = async () => {
      const list = await expectJson<{ keys: { id: string; lastUsedAt: string }[] }>(
        'The list',
        keys.service.fetch('/v1/keys', { headers: keys.ada }),
      )
      return list.keys.find(({ id }) => id === info.id)?.lastUsedAt
    }
    await expect.poll(lastUse, { timeout: 5000 }).toBe(keys.service.clock.now().toISOString())
    keys.service.clock.advance({ seconds: 60 })
    await (await chat(key)).text()
    await expect.poll(lastUse, { timeout: 5000 }).toBe(keys.service.clock.now().toISOString())
  })

  const INVITATIONS = '/v1/teams/%40acme%2Fcore/invitations'
  let guests = 0
  const invite = (email: string) =>
    expectJson<{ id: string }>('The invitation', keys.service.fetch(INVITATIONS, json({ email }, keys.ada)))
  const changeRow = (id: string, data: { revokedAt: Date } | { expiresAt: Date }) =>
    keys.service.database.prisma.apiKey.update({ where: { id }, data })

  it.each<[string, end: (id: string, by: Record<string, string>) => Promise<unknown>]>([
    [
      'is revoked here',
      (id, by) => expectOk('The revocation', keys.service.fetch(`/v1/keys/${id}`, { method: 'DELETE', headers: by })),
    ],
    ['is revoked by another process', (id) => changeRow(id, { revokedAt: keys.service.clock.now() })],
    ['expires', (id) => changeRow(id, { expiresAt: keys.service.clock.now() })],
    [
      'loses its owner by another process',
      (id) =>
        keys.service.database.prisma.invitation.updateMany({
          where: { apiKeys: { some: { id } } },
          data: { revokedAt: keys.service.clock.now() },
        }),
    ],
  ])('ends its open streams when it %s', async (_, end) => {
    const email = `streaming-${++guests}@example.com`
    await invite(email)
    const by = bearerOf((await keys.service.signIn(email)).accessToken)
    const { key, info } = await keys.createKey({}, by)
    upstream.restart(({ res }) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      res.write('data: {"id":"1","object":"chat.completion.chunk","created":1,"model":"fast-1","choices":[]}\n\n')
    })
    const body = { model: 'svc/fast', stream: true, messages: MESSAGES }
    // Not checked against the contract: the stream does not end before the key.
    const stream = await fetch(`${keys.service.origin}/v1/chat/completions`, json(body, bearerOf(key)))
    const text = stream.text()
    await Promise.all([end(info.id, by), expect(text).rejects.toThrow()])
  })

  it('ends with the invitation of its owner, and stays ended after another invitation', async () => {
    const { id } = await invite('guest@example.com')
    const { accessToken } = await keys.service.signIn('guest@example.com')
    const { key } = await keys.createKey({}, bearerOf(accessToken))
    expect((await chat(key)).status).toBe(200)
    await expectOk(
      'The withdrawal',
      keys.service.fetch(`${INVITATIONS}/${id}`, { method: 'DELETE', headers: keys.ada }),
    )
    expect(await outcomeOf(await chat(key))).toBe('401 unauthorized')
    await invite('guest@example.com')
    expect(await outcomeOf(await chat(key))).toBe('401 unauthorized')
  })

  it('survives signing out everywhere, and ends with a disowned device that signed in before it was made', async () => {
    const { key } = await keys.createKey({}, keys.member)
    const signOut = (by: Record<string, string>, body: object) =>
      keys.service.fetch('/v1/auth/logout-everywhere', json(body, by))
    expect((await signOut(keys.member, { scope: 'others' })).status).toBe(200)
    expect((await chat(key)).status).toBe(200)

    keys.service.clock.advance({ seconds: 1 })
    const thief = bearerOf((await keys.service.signIn('member@example.com', { deviceId: 'thief' })).accessToken)
    const { key: stolen } = await keys.createKey({ name: 'of the thief' }, thief)
    const devices = await expectJson<{ devices: { id: string; deviceId: string }[] }>(
      'The devices',
      keys.service.fetch('/v1/devices', { headers: keys.member }),
    )
    const unknownDevice = devices.devices.find(({ deviceId }) => deviceId === 'thief')?.id
    const ended = await expectJson('The sign-out', signOut(keys.member, { scope: 'others', unknownDevice }))
    expect(ended).toMatchObject({ apiKeys: 1 })
    expect(await outcomeOf(await chat(stolen))).toBe('401 unauthorized')
    expect((await chat(key)).status).toBe(200)
  })
})

describe('the email about a new API key', () => {
  it('goes to its owner, with its name and its start in the subject', async () => {
    const { key, info } = await keys.createKey({ name: 'opencode on laptop-1' }, keys.stranger)
    const [mail] = await keys.service.mailbox.waitFor('stranger@example.com', 'New API key')
    expect(mail?.subject.replaceAll('\u200B', '')).toBe(`New API key ${info.prefix}: opencode on laptop-1`)
    expect(mail?.raw).toContain('Auto-Submitted: auto-generated\r\n')
    expect(mail?.raw).not.toContain(key.slice(0, 12))

    const rotate = keys.service.fetch(`/v1/keys/${info.id}/rotate`, json({}, keys.stranger))
    const { info: next } = await expectJson<NewKey>('The rotation', rotate)
    const [replaced] = await keys.service.mailbox.waitFor('stranger@example.com', 'API key replaced by')
    expect(replaced?.subject).toContain(next.prefix)
  })

  it('goes to the admins of the team for a key of a service account, and says who made it', async () => {
    const { service, ada, stranger } = keys
    const team = '/v1/teams/%40acme%2Fother/service-accounts'
    const invitations = '/v1/teams/%40acme%2Fother/invitations'
    const former = service.fetch(invitations, json({ email: 'a-former@example.com', role: 'admin' }, stranger))
    const { id } = await expectJson<{ id: string }>('The invitation', former)
    const withdrawal = service.fetch(`${invitations}/${id}`, { method: 'DELETE', headers: stranger })
    await expectOk('The withdrawal', withdrawal)
    const account = await expectJson<{ id: string }>('It', service.fetch(team, json({ name: 'nightly' }, stranger)))
    const path = `${team}/${account.id}/keys`
    const { info } = await expectJson<NewKey>('The key', service.fetch(path, json({ name: 'builds' }, stranger)))
    const [mail] = await service.mailbox.waitFor('stranger@example.com', `New API key ${info.prefix}`)
    expect(mail?.text).toContain('the service account nightly')
    expect(mail?.text.replaceAll('\u200B', '')).toContain('“stranger@example.com”')
    // Ada is a member of this team, and no admin. The former admin is none any more.
    await expectOk('The list', service.fetch('/v1/keys', { headers: ada }))
    const others = service.mailbox.mails.filter(({ subject }) => subject.includes(info.prefix))
    expect(others.map(({ to }) => to)).toEqual([mail?.to])
  })
})

const isModelRoute = ({ operation }: Route) => (operation.security ?? []).some((scheme) => 'BearerKey' in scheme)
const needsCaller = ({ operation }: Route) => !isOpen(operation)

describe('an API key on the control plane', () => {
  const routes = routesOf(contractOf(readContract(), 'control-plane')).filter(needsCaller)
  let key: string

  beforeAll(async () => {
    ;({ key } = await keys.createKey())
  })

  it('is accepted by no operation of the contract', () => {
    expect(routes.filter(isModelRoute).map(({ id }) => id)).toEqual([])
    expect(routes.length).toBeGreaterThan(20)
  })

  it.each(routes)('is refused with 401, and the message says what keys are for: $id', async ({ method, path }) => {
    const url = path.replace('{team}', '%40acme%2Fcore').replaceAll(/\{\w+\}/g, '01939c1e-6a5b-7c3d-8e4f-0a1b2c3d4e5f')
    for (const headers of [bearerOf(key), { 'x-api-key': key }]) {
      const response = await keys.service.fetch(url, { method: method.toUpperCase(), headers })
      expect(response.status).toBe(401)
      const text = await response.text()
      expect(text).toContain('API keys are only for model calls')
      expect(text).not.toContain(key.slice(0, 12))
    }
  })

  it.each(['svc_session', 'svc_access', 'svc_refresh'])('is no cookie: %s', async (name) => {
    const response = await keys.service.fetch('/v1/keys', { headers: { cookie: `${name}=${key}` } })
    expect(response.status).toBe(401)
  })

  it('is no refresh token, and revoking it as a token changes nothing', async () => {
    const form = new URLSearchParams({ token: key, client_id: 'x' })
    expect((await keys.service.fetch('/oauth/revoke', { method: 'POST', body: form })).status).toBe(200)
    expect((await chat(key)).status).toBe(200)
    const refresh = json({ account: 'ada@example.com', refreshToken: key })
    expect(await outcomeOf(await keys.service.fetch('/v1/auth/token/refresh', refresh))).toBe('401 unauthorized')
  })
})

it('an API key does not read the settings of Claude Code, which asks for them only where it has signed in', async () => {
  const { key } = await keys.createKey()
  for (const path of ['/managed/settings', '/vendorb/managed/settings']) {
    const response = await keys.service.fetch(path, { headers: bearerOf(key) })
    expect(response.status).toBe(401)
    expect(await messageOf(response)).toContain('API keys are only for model calls')
  }
})

describe('an API key that is not valid', () => {
  it('is refused with the reasons that there can be, without repeating the key', async () => {
    const { key } = await keys.createKey()
    for (const wrong of [newApiKey().reveal(), `${key}x`, key.toLowerCase()]) {
      const response = await keys.service.fetch('/v1/models', { headers: bearerOf(wrong) })
      expect(response.status).toBe(401)
      const text = await response.text()
      expect(text).toContain('mistyped or revoked')
      expect(text).not.toContain(wrong.slice(5, 20))
    }
  })
})

describe('with limits', () => {
  let own: TeamWithModels

  beforeAll(async () => {
    own = await startTeamWithModels({
      SVC_LIMIT_STARTS_PER_IP: '6',
      SVC_LIMIT_MAILS_PER_ADDRESS: '2',
      SVC_TRUST_PROXY: 'loopback',
    })
  })
  afterAll(() => own[Symbol.asyncDispose]())

  it('the email about a new API key is sent as often as emails may be, and leaves those for signing in', async () => {
    for (let made = 0; made < 3; made++) await own.createKey({ name: `Key ${made}` }, own.member)
    await own.service.mailbox.waitFor('member@example.com', 'New API key', 2)
    await own.service.signIn('member@example.com', { deviceId: 'another' })
    const sent = own.service.mailbox.mails.filter(({ to }) => to.includes('member@example.com'))
    expect(sent.filter(({ subject }) => subject.startsWith('New API key'))).toHaveLength(2)
  })

  it('limits the unknown API keys of one network, and serves the known keys of that network', async () => {
    const from = (key: string) =>
      own.service.fetch('/v1/models', { headers: { ...bearerOf(key), 'x-forwarded-for': '203.0.113.7' } })
    const { key } = await own.createKey()
    expect((await from(key)).status).toBe(200)
    for (let tries = 0; tries < 6; tries++) expect((await from(newApiKey().reveal())).status).toBe(401)
    const refused = await from(newApiKey().reveal())
    expect(await outcomeOf(refused)).toBe('429 rate_limited')
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect((await from(key)).status).toBe(200)
  })
})
