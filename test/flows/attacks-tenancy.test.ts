import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { contractOf, readContract, routesOf } from '../../src/http/contract.ts'
import { newEncryptionKey } from '../../src/kernel/credentials/cipher.ts'
import { startTeamWithModels } from '../support/team-with-models.ts'
import type { TeamWithModels, NewKey } from '../support/team-with-models.ts'
import { expectJson, expectOk, form } from '../support/requests.ts'

const CORE = '/v1/teams/%40acme%2Fcore'
const OTHER = '/v1/teams/%40acme%2Fother'

/** The ids of what `@acme/core` has. */
type Ids = Readonly<
  Record<'account' | 'device' | 'invitation' | 'serviceAccount' | 'key' | 'limit' | 'model' | 'backend', string>
>

const BACKEND = { dialects: ['chat'], url: 'https://api.vendor.example' }
const MODEL = { displayName: 'Writer', serve: [{ backend: 'acme/core/own', model: 'writer-1' }] }
const AMOUNT = 1_000_000

/** Each operation on one thing of a team, the ids that it takes, and a body. */
const OPERATIONS: [id: string, of: readonly (keyof Ids)[], body: object | null][] = [
  ['revokeTeamDevice', ['device'], null],
  ['resendInvitation', ['invitation'], null],
  ['withdrawInvitation', ['invitation'], null],
  ['changeMember', ['account'], { role: 'member' }],
  ['removeMember', ['account'], null],
  ['putTeamModel', ['model'], MODEL],
  ['deleteTeamModel', ['model'], null],
  ['putTeamBackend', ['backend'], BACKEND],
  ['deleteTeamBackend', ['backend'], null],
  ['deleteServiceAccount', ['serviceAccount'], null],
  ['listServiceAccountKeys', ['serviceAccount'], null],
  ['createServiceAccountKey', ['serviceAccount'], { name: 'mine' }],
  ['rotateServiceAccountKey', ['serviceAccount', 'key'], { overlapSeconds: 0 }],
  ['revokeServiceAccountKey', ['serviceAccount', 'key'], null],
  ['getSpendingLimit', ['limit'], null],
  ['changeSpendingLimit', ['limit'], { amountNanoUsd: 1 }],
  ['removeSpendingLimit', ['limit'], null],
]

/** The forms of a team's pages that name one of its things. */
const FORMS: [action: string, page: string, fields: (ids: Ids) => Readonly<Record<string, string>>][] = [
  ['resend', 'members', ({ account }) => ({ memberId: account })],
  ['set-role', 'members', ({ account }) => ({ memberId: account, role: 'member' })],
  ['remove', 'members', ({ account }) => ({ memberId: account })],
  ['sign-out', 'devices', ({ device }) => ({ sessionId: device })],
  ['delete-account', 'keys', ({ serviceAccount }) => ({ accountId: serviceAccount })],
  ['create-key', 'keys', ({ serviceAccount }) => ({ accountId: serviceAccount, name: 'mine' })],
  ['rotate-key', 'keys', ({ key }) => ({ accountId: own.serviceAccount, keyId: key })],
  ['revoke-key', 'keys', ({ key }) => ({ accountId: own.serviceAccount, keyId: key })],
  ['change', 'limits', ({ limit }) => ({ limitId: limit, amount: '1' })],
  ['remove', 'limits', ({ limit }) => ({ limitId: limit })],
  ['delete', 'models', ({ model }) => ({ model })],
  ['delete-backend', 'models', ({ backend }) => ({ backend })],
]

const routes = routesOf(contractOf(readContract(), 'control-plane')).filter(({ path }) =>
  /^\/v1\/teams\/\{team\}\/.*\{/.test(path),
)

let keys: TeamWithModels
let ids: Ids
/** A service account and a key of the other team. */
let own: { readonly serviceAccount: string; readonly key: string }

beforeAll(async () => {
  keys = await startTeamWithModels({
    SVC_ADMIN_BACKEND_HOSTS: '*.vendor.example',
    SVC_SECRET_KEY: newEncryptionKey().reveal(),
  })
  ids = await makeThings()
  own = await makeServiceAccount(OTHER, keys.stranger)
})
afterAll(() => keys[Symbol.asyncDispose]())

async function makeServiceAccount(team: string, by: Record<string, string>) {
  const account = await expectJson<{ id: string }>(
    'The service account',
    keys.send('POST', `${team}/service-accounts`, { name: 'builds' }, by),
  )
  const path = `${team}/service-accounts/${account.id}/keys`
  const { info } = await expectJson<NewKey>('The key', keys.send('POST', path, { name: 'ci' }, by))
  return { serviceAccount: account.id, key: info.id }
}

async function makeThings(): Promise<Ids> {
  await expectOk('The backend', keys.send('PUT', `${CORE}/backends/acme%2Fcore%2Fown`, BACKEND))
  await expectOk('The model', keys.send('PUT', `${CORE}/models/acme%2Fcore%2Fwriter`, MODEL))
  const idOf = async (what: string, body: object) =>
    (await expectJson<{ id: string }>(what, keys.send('POST', `${CORE}/${what}`, body))).id
  const invitation = await idOf('invitations', { email: 'new@example.com', role: 'admin' })
  const { members } = await expectJson<{ members: { id: string; email: string }[] }>(
    'The members',
    keys.send('GET', `${CORE}/members`),
  )
  const { devices } = await expectJson<{ devices: { id: string; email: string }[] }>(
    'The devices',
    keys.send('GET', `${CORE}/devices`),
  )
  const idIn = (list: readonly { id: string; email: string }[], email: string) => {
    const found = list.find((one) => one.email === email)
    if (!found) throw new Error(`The team has nothing of ${email}.`)
    return found.id
  }
  return {
    account: idIn(members, 'new@example.com'),
    device: idIn(devices, 'member@example.com'),
    invitation,
    ...(await makeServiceAccount(CORE, keys.ada)),
    limit: await idOf('limits', { subject: 'team', period: 'month', amountNanoUsd: AMOUNT }),
    model: 'acme/core/writer',
    backend: 'acme/core/own',
  }
}

/** All that an admin of the team sees of it. */
async function findState(): Promise<unknown> {
  const lists = ['members', 'devices', 'models', 'backends', 'service-accounts', 'limits', 'audit']
  const things = [...lists, `service-accounts/${ids.serviceAccount}/keys`]
  return Promise.all(things.map(async (thing) => expectJson(thing, keys.send('GET', `${CORE}/${thing}`))))
}

describe('an admin who names things of another team in their own', () => {
  it('is tried with every operation of the contract on one thing of a team', () => {
    expect(OPERATIONS.map(([id]) => id).toSorted()).toEqual(routes.map(({ id }) => id).toSorted())
  })

  it.each(OPERATIONS)('finds nothing and changes nothing by %s', async (id, of, body) => {
    const { method, path } = routes.find((route) => route.id === id) ?? { method: '', path: '' }
    const values = of.map((name) => ids[name])
    // A key of the other team's service account, in one of the own team.
    const places = of.includes('key')
      ? [values, [own.serviceAccount, ids.key], [ids.serviceAccount, own.key]]
      : [values]
    const before = await findState()
    for (const place of places) {
      const [first = '', second = ''] = place.map(encodeURIComponent)
      const own = path.replace('{team}', '%40acme%2Fother')
      const url = own.replace(/\{\w+\}/, first).replace(/\{\w+\}/, second)
      const { status } = await keys.send(method.toUpperCase(), url, body ?? undefined, keys.stranger)
      // What is put somewhere has a name that begins with the team's.
      expect(status).toBe(id.startsWith('put') ? 400 : 404)
    }
    expect(await findState()).toEqual(before)
  })

  it.each(FORMS)(
    'finds nothing and changes nothing by the form %s of the page of %s',
    async (action, page, fieldsOf) => {
      const before = await findState()
      const fields = { action, ...fieldsOf(ids) }
      const { status } = await keys.service.fetch(`/teams/acme/other/${page}`, form(fields, keys.stranger))
      expect(status).toBe(404)
      expect(await findState()).toEqual(before)
    },
  )

  it.each(['key', 'serviceAccount'] as const)('cannot limit what a %s spends', async (of) => {
    const subject = of === 'key' ? 'key' : 'service_account'
    const limit = { subject, of: ids[of], period: 'day', amountNanoUsd: 1 }
    expect((await keys.send('POST', `${OTHER}/limits`, limit, keys.stranger)).status).toBe(400)
    expect((await keys.send('POST', `${OTHER}/limits`, { ...limit, of: own[of] }, keys.stranger)).status).toBe(201)
  })
})
