import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTeamWithModels } from '../support/team-with-models.ts'
import type { TeamWithModels, NewKey } from '../support/team-with-models.ts'
import { describeAdminRefusals } from '../support/refusals.ts'
import { bearerOf, expectJson, outcomeOf } from '../support/requests.ts'

const UNKNOWN_ID = '01939c1e-6a5b-7c3d-8e4f-0a1b2c3d4e5f'
const PATH = '/v1/teams/%40acme%2Fcore/service-accounts'

let keys: TeamWithModels
/** A service account that no test deletes. */
let builds: string

beforeAll(async () => {
  keys = await startTeamWithModels()
  builds = await createAccount('builds')
})
afterAll(() => keys[Symbol.asyncDispose]())

async function createAccount(name: string): Promise<string> {
  return (await expectJson<{ id: string }>('The service account', keys.send('POST', PATH, { name }))).id
}
const createKey = (account: string, fields: object = {}) =>
  expectJson<NewKey>('The key', keys.send('POST', `${PATH}/${account}/keys`, { name: 'nightly', ...fields }))
const modelsFor = (key: string) => keys.service.fetch('/v1/models', { headers: bearerOf(key) })

const KEYS = () => `${PATH}/${builds}/keys`

describeAdminRefusals(
  [
    { id: 'listServiceAccounts', method: 'GET', path: PATH },
    { id: 'createServiceAccount', method: 'POST', path: PATH, body: { name: 'another' } },
    { id: 'deleteServiceAccount', method: 'DELETE', path: `${PATH}/${UNKNOWN_ID}` },
    { id: 'listServiceAccountKeys', method: 'GET', path: KEYS },
    { id: 'createServiceAccountKey', method: 'POST', path: KEYS, body: { name: 'x' } },
    {
      id: 'rotateServiceAccountKey',
      method: 'POST',
      path: () => `${KEYS()}/${UNKNOWN_ID}/rotate`,
      body: { overlapSeconds: 0 },
    },
    { id: 'revokeServiceAccountKey', method: 'DELETE', path: () => `${KEYS()}/${UNKNOWN_ID}` },
  ],
  () => keys,
)

describe('service accounts', () => {
  it('are listed with their admin, the number of working keys and the last use', async () => {
    const id = await createAccount('listed')
    await createKey(id)
    const gone = await createKey(id)
    await keys.send('DELETE', `${PATH}/${id}/keys/${gone.info.id}`)
    const { serviceAccounts } = await expectJson<{ serviceAccounts: { name: string }[] }>(
      'The list',
      keys.send('GET', PATH),
    )
    expect(serviceAccounts.find(({ name }) => name === 'listed')).toEqual({
      id,
      name: 'listed',
      team: '@acme/core',
      createdAt: keys.service.clock.now().toISOString(),
      createdBy: 'ada@example.com',
      activeKeys: 1,
      lastUsedAt: null,
    })
  })

  it('have unique names in a team', async () => {
    expect(await outcomeOf(await keys.send('POST', PATH, { name: 'builds' }))).toBe('409 conflict')
    expect(await outcomeOf(await keys.send('POST', PATH, { name: 'Not A Name' }))).toBe('400 invalid_request')
  })

  it('are limited to 200 in a team', async () => {
    const { prisma } = keys.service.database
    const { teamId, createdById, createdAt } = await prisma.serviceAccount.findUniqueOrThrow({ where: { id: builds } })
    const names = Array.from({ length: 199 }, (_, index) => `many-${index}`)
    await prisma.serviceAccount.createMany({
      data: names.map((name) => ({ teamId, createdById, createdAt, name })),
      skipDuplicates: true,
    })
    const response = await keys.send('POST', PATH, { name: 'one-more' })
    expect(await response.json()).toMatchObject({
      error: { code: 'conflict', message: expect.stringContaining('200 service accounts') },
    })
    await prisma.serviceAccount.deleteMany({ where: { name: { in: names } } })
  })

  it('are deleted with their keys, which end at once, with an audit event', async () => {
    const id = await createAccount('short-lived')
    const { key, info } = await createKey(id)
    expect((await modelsFor(key)).status).toBe(200)
    expect((await keys.send('DELETE', `${PATH}/${id}`)).status).toBe(200)
    expect(await outcomeOf(await modelsFor(key))).toBe('401 unauthorized')
    expect(await outcomeOf(await keys.send('DELETE', `${PATH}/${id}`))).toBe('404 not_found')
    const rows = await keys.auditOf(id)
    expect(rows).toMatchObject([
      { kind: 'service_account.created' },
      { kind: 'service_account.deleted', details: { name: 'short-lived', keys: [info.id] } },
    ])
  })
})

describe('keys of a service account', () => {
  it('are created, listed, rotated and revoked by an admin', async () => {
    const id = await createAccount('life')
    const old = await createKey(id, { models: ['svc/fast'] })
    const { data } = await expectJson<{ data: { id: string }[] }>('The models', modelsFor(old.key))
    expect(data.map((model) => model.id)).toEqual(['svc/fast', 'quick'])
    const path = `${PATH}/${id}/keys/${old.info.id}`
    const next = await expectJson<NewKey>('The rotation', keys.send('POST', `${path}/rotate`))
    expect(await outcomeOf(await keys.send('POST', `${path}/rotate`))).toBe('409 conflict')
    const list = await expectJson<{ keys: object[] }>('The list', keys.send('GET', `${PATH}/${id}/keys`))
    expect(list.keys).toHaveLength(2)
    expect((await keys.send('DELETE', `${PATH}/${id}/keys/${next.info.id}`)).status).toBe(200)
    expect(await outcomeOf(await modelsFor(next.key))).toBe('401 unauthorized')
    expect((await modelsFor(old.key)).status).toBe(200)
  })

  it('do not belong to a person: their lists and changes are separate', async () => {
    const { info } = await createKey(builds)
    const own = await expectJson<{ keys: { id: string }[] }>('Own keys', keys.send('GET', '/v1/keys'))
    expect(own.keys.map(({ id }) => id)).not.toContain(info.id)
    expect(await outcomeOf(await keys.send('DELETE', `/v1/keys/${info.id}`))).toBe('404 not_found')
    const other = await createAccount('other')
    const path = `${PATH}/${other}/keys/${info.id}`
    expect(await outcomeOf(await keys.send('DELETE', path))).toBe('404 not_found')
  })

  it('are at most 50 that work', async () => {
    const id = await createAccount('many')
    await Promise.all(Array.from({ length: 50 }, () => createKey(id)))
    expect(await outcomeOf(await keys.send('POST', `${PATH}/${id}/keys`, { name: 'x' }))).toBe('409 conflict')
  })

  it('are refused for an unknown service account, a bad id and unknown models', async () => {
    const at = (account: string) => keys.send('POST', `${PATH}/${account}/keys`, { name: 'x' })
    expect(await outcomeOf(await at(UNKNOWN_ID))).toBe('404 not_found')
    expect(await outcomeOf(await keys.send('GET', `${PATH}/${UNKNOWN_ID}/keys`))).toBe('404 not_found')
    for (const [method, path] of [
      ['DELETE', `${PATH}/nonsense`],
      ['GET', `${PATH}/nonsense/keys`],
      ['DELETE', `${PATH}/${builds}/keys/nonsense`],
    ] as const) {
      expect(await outcomeOf(await keys.send(method, path))).toBe('400 invalid_request')
    }
    const models = await keys.send('POST', `${PATH}/${builds}/keys`, { name: 'x', models: ['svc/none'] })
    expect(await outcomeOf(models)).toBe('400 invalid_request')
  })

  it('need a fresh sign-in of the admin', async () => {
    const { info } = await createKey(builds)
    const path = `${PATH}/${builds}/keys`
    expect(await outcomeOf(await keys.send('POST', path, { name: 'x' }, keys.adaStale))).toBe('403 reauthenticate')
    const rotated = await keys.send('POST', `${path}/${info.id}/rotate`, undefined, keys.adaStale)
    expect(await outcomeOf(rotated)).toBe('403 reauthenticate')
  })
})
