import tls from 'node:tls'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { BackendList, TeamBackend, TeamBackendList } from '../../generated/openapi.ts'
import { makeTeamBackendStore } from '../../src/control/team-backends/store.ts'
import { makeConnectProbe, openBackendPool } from '../../src/gateway/backends/backend.ts'
import { makeCheckedLookup } from '../../src/gateway/backends/checked-lookup.ts'
import { makeSharedLookup } from '../../src/gateway/backends/shared-lookup.ts'
import { sendAndWait } from '../../src/gateway/exchange/send.ts'
import type { BackendRequest } from '../../src/gateway/exchange/send.ts'
import { isPublicAddress } from '../../src/kernel/network/allowed-hosts.ts'
import { makeCipher, newEncryptionKey } from '../../src/kernel/credentials/cipher.ts'
import { Secret } from '../../src/kernel/secret.ts'
import { makeCertificate } from '../support/network/certificate.ts'
import { startTeamWithModels } from '../support/team-with-models.ts'
import type { TeamWithModels } from '../support/team-with-models.ts'
import { describeAdminRefusals } from '../support/refusals.ts'
import type { AdminOperation } from '../support/refusals.ts'
import { bearerOf, expectJson, expectOk, messageOf, outcomeOf } from '../support/requests.ts'
import { answersJson, completionOf, startUpstream } from '../support/upstream.ts'
import type { TestUpstream } from '../support/upstream.ts'

const TEAM = '/v1/teams/%40acme%2Fcore'
const BACKENDS = `${TEAM}/backends`
const pathOf = (name: string) => `${BACKENDS}/${encodeURIComponent(name)}`
const SECRET = 'sk-of-the-team-1'

const answer = completionOf('own-1')

const certificate = makeCertificate()
const encryptionKey = newEncryptionKey()
let vendor: TestUpstream
let keys: TeamWithModels
beforeAll(async () => {
  tls.setDefaultCACertificates([...tls.getCACertificates('default'), certificate.cert])
  vendor = await startUpstream(answersJson(answer), certificate)
  keys = await startTeamWithModels({
    SVC_VENDORA_UPSTREAM_URL: vendor.url.href,
    SVC_ADMIN_BACKEND_HOSTS: `${vendor.url.host}, *.vendor.example, 127.0.0.0/8`,
    SVC_SECRET_KEY: encryptionKey.reveal(),
  })
  await keys.service.applyDirectory(
    `${keys.directory}
  - { id: svc/eu, displayName: EU, owner: svc, serve: [{ backend: eu, model: eu-1 }] }
backends: [{ name: eu, dialects: [messages], url: 'https://eu.example/secret-path' }]`.replace(
      'models: [svc/fast,',
      'models: [svc/eu, svc/fast,',
    ),
  )
})
afterAll(async () => {
  await keys[Symbol.asyncDispose]()
  await vendor[Symbol.asyncDispose]()
})

const own = (fields: object = {}) => ({ dialects: ['chat'], url: 'https://api.vendor.example', ...fields })
const put = (name: string, fields: object = {}, by = keys.ada) => keys.send('PUT', pathOf(name), own(fields), by)
const list = (by = keys.ada) => expectJson<TeamBackendList>('The backends', keys.send('GET', BACKENDS, undefined, by))
const find = async (name: string) => (await list()).backends.find((backend) => backend.name === name)
const putModel = (name: string, backend: string) =>
  keys.send('PUT', `${TEAM}/models/acme%2Fcore%2F${name}`, { displayName: 'Own', serve: [{ backend, model: 'own-1' }] })
const afterReload = () => keys.service.clock.advance({ seconds: 11 })

const OPERATIONS: readonly AdminOperation[] = [
  { id: 'listTeamBackends', method: 'GET', path: BACKENDS },
  { id: 'putTeamBackend', method: 'PUT', path: pathOf('acme/core/refused'), body: own() },
  { id: 'deleteTeamBackend', method: 'DELETE', path: pathOf('acme/core/refused') },
]

describeAdminRefusals(OPERATIONS, () => keys)

it('401: all these operations refuse an API key', async () => {
  const { key } = await keys.createKey()
  for (const { id, method, path, body } of OPERATIONS)
    expect(await outcomeOf(await keys.send(method, String(path), body, bearerOf(key))), id).toBe('401 unauthorized')
})

describe('listTeamBackends', () => {
  it('200: shows of the file what serves the team, without its address, and the hosts that may be named', async () => {
    const { allowedHosts, backends } = await list()
    expect(allowedHosts).toEqual([vendor.url.host, '*.vendor.example'])
    expect(backends.find(({ source }) => source === 'file')).toEqual({
      name: 'eu',
      source: 'file',
      dialects: ['messages'],
      url: null,
      basePath: null,
      credential: null,
      problem: null,
      version: null,
    })
  })
})

describe('putTeamBackend', () => {
  it('200: adds a backend that serves models of the team, with its credential, and is shown to no other team', async () => {
    const name = 'acme/core/vendor'
    const made = await expectJson<TeamBackend>(
      'The backend',
      put(name, { url: vendor.url.href, credential: { value: SECRET } }),
    )
    expect(made).toEqual({
      name,
      source: 'admin',
      dialects: ['chat'],
      url: vendor.url.origin,
      basePath: '/v1',
      credential: { as: 'bearer', setAt: keys.service.clock.now().toISOString() },
      problem: null,
      version: expect.any(String),
    })
    await expectOk('The model', putModel('own', name))
    afterReload()
    const called = await expectOk('The call', keys.chat('acme/core/own'))
    expect(called.headers.get('x-svc-served-by')).toBe(name)
    expect(vendor.last().headers.authorization).toBe(`Bearer ${SECRET}`)
    expect(JSON.parse(vendor.last().body.toString())).toMatchObject({ model: 'own-1' })
    expect(await outcomeOf(await keys.chat('acme/core/own', keys.stranger))).toBe('403 model_not_allowed')
    const namesFor = async (by: Record<string, string>) => {
      const path = '/v1/backends'
      const listed = await expectJson<BackendList>(path, keys.send('GET', path, undefined, by))
      return listed.backends.map((backend) => backend.name)
    }
    expect(await namesFor(keys.ada)).toContain(name)
    expect(await namesFor(keys.stranger)).not.toContain(name)
  })

  it('200: calls a backend at its base path, which is /v1 again when it is left out', async () => {
    const name = 'acme/core/path'
    const url = vendor.url.href
    const set = (fields: object) => expectJson<TeamBackend>('The backend', put(name, { url, ...fields }))
    expect(await set({ basePath: '/' })).toMatchObject({ basePath: '/' })
    expect(await set({ basePath: '/paas/v4/' })).toMatchObject({ basePath: '/paas/v4' })
    await expectOk('The model', putModel('path', name))
    afterReload()
    await expectOk('The call', keys.chat('acme/core/path'))
    expect(vendor.last().url).toBe('/paas/v4/chat/completions')
    expect(await set({})).toMatchObject({ basePath: '/v1' })
    expect(await outcomeOf(await put(name, { url, basePath: 'v4' }))).toBe('400 invalid_request')
  })

  it('200: keeps the credential, replaces and removes it, with audit events that have no secret', async () => {
    const name = 'acme/core/changed'
    const url = 'https://eu.vendor.example/path-secret'
    await expectOk('The backend', put(name, { url, credential: { value: SECRET, as: 'x-api-key' } }))
    await expectOk('The change', put(name, { url, dialects: ['messages'] }))
    expect(await find(name)).toMatchObject({ dialects: ['messages'], credential: { as: 'x-api-key' } })
    await expectOk('No credential', put(name, { url, credential: null }))
    expect(await find(name)).toMatchObject({ credential: null })
    const events = await keys.auditOf(name)
    expect(events).toMatchObject([
      { kind: 'backend.created', ip: '127.0.0.1', details: { host: 'eu.vendor.example', credential: 'set' } },
      { kind: 'backend.changed', details: { dialects: ['messages'], credential: 'kept' } },
      { kind: 'backend.changed', details: { credential: 'removed' } },
    ])
    expect(JSON.stringify(events.map(({ details }) => details))).not.toContain('secret')
  })

  it('200: stores the credential encrypted, and neither an answer nor the log has it', async () => {
    const name = 'acme/core/quiet'
    const text = await (await put(name, { credential: { value: SECRET } })).text()
    const row = await keys.service.database.prisma.adminBackend.findUniqueOrThrow({ where: { name } })
    expect(Buffer.from(row.encryptedCredential ?? []).includes(SECRET)).toBe(false)
    const seen = [text, JSON.stringify(await list()), JSON.stringify(keys.service.log)]
    expect(seen.filter((one) => one.includes(SECRET))).toEqual([])
  })

  it('200: tells of a credential that no key decrypts, in the list and in the log, and calls nothing', async () => {
    const name = 'acme/core/lost'
    const { prisma } = keys.service.database
    await expectOk('The backend', put(name, { url: vendor.url.href, credential: { value: SECRET } }))
    await expectOk('The model', putModel('lost', name))
    const stolen = await prisma.adminBackend.findUniqueOrThrow({ where: { name: 'acme/core/quiet' } })
    await prisma.adminBackend.update({ where: { name }, data: { encryptedCredential: stolen.encryptedCredential } })
    await expectOk('Another change', put('acme/core/unrelated'))
    afterReload()
    expect(await outcomeOf(await keys.chat('acme/core/lost'))).toBe('503 model_unavailable')
    expect(await find(name)).toMatchObject({ problem: 'credential_unreadable' })
    const fields = { backend: name, problem: 'credential_unreadable' }
    expect(keys.service.log).toContainEqual({ level: 'error', event: 'backend.unusable', fields })
  })

  it('400: refuses addresses that the operator does not allow, and names of other teams', async () => {
    for (const url of [
      'https://169.254.169.254',
      'https://localhost',
      'https://vendor.example',
      'https://api.vendor.example:8443',
      'https://admin:secret@api.vendor.example',
      'http://api.vendor.example',
      'file:///etc/passwd',
    ])
      expect([url, await outcomeOf(await put('acme/core/wrong', { url }))]).toEqual([url, '400 invalid_request'])
    expect(await outcomeOf(await put('acme/other/wrong'))).toBe('400 invalid_request')
    const moved = await put('acme/core/quiet', { url: 'https://evil.vendor.example' })
    expect(await messageOf(moved)).toContain('credential: must be given again')
  })

  it('403: needs a sign-in of the last 15 minutes', async () => {
    expect(await outcomeOf(await put('acme/core/stale', {}, keys.adaStale))).toBe('403 reauthenticate')
  })

  it('409: changes only the version that the request names', async () => {
    const name = 'acme/core/versioned'
    const { version } = await expectJson<TeamBackend>('The backend', put(name))
    const changed = await expectJson<TeamBackend>('The change', put(name, { dialects: ['messages'], version }))
    expect(await outcomeOf(await put(name, { version }))).toBe('409 conflict')
    expect(await find(name)).toEqual(changed)
    await expectOk('The deletion', keys.send('DELETE', pathOf(name)))
  })

  it('409: has a limit for each team', async () => {
    const data = Array.from({ length: 20 }, (_, i) => {
      return { name: `acme/core/many-${i}`, dialects: ['chat' as const], url: 'https://a.vendor.example' }
    })
    const { prisma } = keys.service.database
    const { id: teamId } = await prisma.team.findFirstOrThrow({ where: { name: 'core' } })
    await prisma.adminBackend.createMany({ data: data.map((row) => ({ ...row, teamId, createdAt: new Date(0) })) })
    expect(await outcomeOf(await put('acme/core/one-more'))).toBe('409 conflict')
    await prisma.adminBackend.deleteMany({ where: { name: { startsWith: 'acme/core/many-' } } })
  })
})

describe('deleteTeamBackend', () => {
  it('200: deletes a backend of an admin, with an audit event', async () => {
    const name = 'acme/core/deleted'
    await expectOk('The backend', put(name))
    await expectOk('The deletion', keys.send('DELETE', pathOf(name)))
    expect(await find(name)).toBeUndefined()
    expect(await outcomeOf(await keys.send('DELETE', pathOf(name)))).toBe('404 not_found')
    expect(await keys.auditOf(name)).toMatchObject([{ kind: 'backend.created' }, { kind: 'backend.deleted' }])
  })

  it('404: there is no backend whose name has NUL, which the database cannot read', async () => {
    expect(await outcomeOf(await keys.send('DELETE', pathOf('a\0b')))).toBe('404 not_found')
  })

  it('409: refuses while a model uses it, and for a backend of the file', async () => {
    const name = 'acme/core/used'
    await expectOk('The backend', put(name))
    await expectOk('The model', putModel('user', name))
    const refused = await keys.send('DELETE', pathOf(name))
    expect(refused.status).toBe(409)
    expect(await messageOf(refused)).toContain('acme/core/user')
    expect(await outcomeOf(await keys.send('DELETE', pathOf('eu')))).toBe('409 conflict')
  })
})

describe('a connection to a backend of an admin', () => {
  const request: BackendRequest = { method: 'GET', path: '/', headers: [], body: null }
  const get = async (isAllowed: (address: string) => boolean) => {
    const needs = { connectTimeoutMs: 2000, idleTimeoutMs: 2000, outboundProxy: null }
    const lookup = makeCheckedLookup(isAllowed, makeSharedLookup())
    const { pool } = openBackendPool(vendor.url, { ...needs, lookup })
    const canConnect = makeConnectProbe(vendor.url, { ...needs, lookup })
    const reply = await sendAndWait(pool, request, { timeoutMs: 2000, maxBytes: 10_000 })
    await pool.destroy()
    return { reply, canConnect: await canConnect() }
  }

  it('is not made when the name resolves to loopback', async () => {
    const before = vendor.calls.length
    expect(await get(isPublicAddress)).toEqual({
      reply: { kind: 'unreachable', reason: 'ERR_ADDRESS_NOT_ALLOWED' },
      canConnect: false,
    })
    expect(vendor.calls.length).toBe(before)
  })

  it('is made to an address that is listed, and follows no redirect', async () => {
    vendor.script = answersJson({}, { status: 302, headers: { location: 'https://169.254.169.254/' } })
    expect(await get((address) => address === '127.0.0.1')).toMatchObject({
      reply: { kind: 'answered', status: 302 },
      canConnect: true,
    })
    vendor.script = answersJson(answer)
  })
})

describe('a new encryption key', () => {
  it('encrypts the stored credentials again, and the former key is needed no more', async () => {
    const [key, hosts] = [newEncryptionKey(), keys.service.config.adminBackendHosts]
    if (!hosts) throw new Error('The service has no allowed hosts.')
    const store = makeTeamBackendStore(keys.service.database)
    await expectOk('The backend', put('acme/core/rotated', { credential: { value: SECRET } }))
    expect(await store.reencrypt({ hosts, cipher: makeCipher([key]) })).toMatchObject({ encrypted: 0 })
    const before = await store.reencrypt({ hosts, cipher: makeCipher([key, encryptionKey]) })
    expect(before.encrypted).toBeGreaterThan(0)
    expect(before.unreadable).toBe(1)
    const row = await keys.service.database.prisma.adminBackend.findUniqueOrThrow({
      where: { name: 'acme/core/rotated' },
    })
    const encrypted = { keyId: row.credentialKeyId ?? '', bytes: row.encryptedCredential ?? new Uint8Array() }
    const context = `svc backend credential ${row.teamId} ${row.name}`
    expect(makeCipher([key]).decrypt(encrypted, context)).toEqual(new Secret(SECRET))
  })
})
