import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { LimitAnswer } from '../../src/spending/answers.ts'
import { accountIdOf } from '../support/agent-sessions.ts'
import { startTeamWithModels } from '../support/team-with-models.ts'
import type { NewKey, TeamWithModels } from '../support/team-with-models.ts'
import { describeAdminRefusals } from '../support/refusals.ts'
import { bearerOf, expectJson, expectOk, outcomeOf } from '../support/requests.ts'
import { spend } from '../support/spending.ts'

const TEAM = '/v1/teams/%40acme%2Fcore'
const PATH = `${TEAM}/limits`
const UNKNOWN_ID = '01939c1e-6a5b-7c3d-8e4f-0a1b2c3d4e5f'
const AMOUNT = { amountNanoUsd: 10_000_000_000 }

let keys: TeamWithModels
/** A limit that no test changes. */
let kept: string

beforeAll(async () => {
  keys = await startTeamWithModels()
  kept = (await create({ subject: 'team', period: 'month' })).id
})
afterAll(() => keys[Symbol.asyncDispose]())

const create = (fields: object) =>
  expectJson<LimitAnswer>('The limit', keys.send('POST', PATH, { ...AMOUNT, ...fields }))
const list = async () => (await expectJson<{ limits: LimitAnswer[] }>('The list', keys.send('GET', PATH))).limits
const ownLimits = async (by: Record<string, string>) =>
  (await expectJson<{ limits: LimitAnswer[] }>('The own limits', keys.send('GET', '/v1/limits', undefined, by))).limits

describeAdminRefusals(
  [
    { id: 'listSpendingLimits', method: 'GET', path: PATH },
    { id: 'createSpendingLimit', method: 'POST', path: PATH, body: { subject: 'team', period: 'day', ...AMOUNT } },
    { id: 'getSpendingLimit', method: 'GET', path: () => `${PATH}/${kept}` },
    { id: 'changeSpendingLimit', method: 'PATCH', path: () => `${PATH}/${kept}`, body: AMOUNT },
    { id: 'removeSpendingLimit', method: 'DELETE', path: `${PATH}/${UNKNOWN_ID}` },
  ],
  () => keys,
)

describe('createSpendingLimit', () => {
  it('201: answers with the limit and what its period has used before', async () => {
    await spend(keys.service, 7_000, { accountId: await accountIdOf(keys.service, 'member@example.com') })
    const limit = await create({ subject: 'member', of: 'MEMBER@example.com', period: 'week' })
    expect(limit).toMatchObject({
      team: '@acme/core',
      subject: 'member',
      subjectId: await accountIdOf(keys.service, 'member@example.com'),
      subjectName: 'member@example.com',
      period: 'week',
      amountNanoUsd: 10_000_000_000,
      spentNanoUsd: 7_000,
      remainingNanoUsd: 9_999_993_000,
      unknownCalls: 0,
      unpricedCalls: 0,
      timeZone: 'UTC',
      createdAt: keys.service.clock.now().toISOString(),
    })
    expect(Date.parse(limit.resetsAt)).toBeGreaterThan(keys.service.clock.now().getTime())
  })

  it.each([
    ['a person who is no member', { subject: 'member', of: 'stranger@example.com' }],
    ['no member', { subject: 'member' }],
    ['a name for the whole team', { subject: 'team', of: 'ada@example.com' }],
    ['a key that does not exist', { subject: 'key', of: UNKNOWN_ID }],
    ['a key that is no id', { subject: 'key', of: 'svck_1' }],
    ['a service account that does not exist', { subject: 'service_account', of: 'nobody' }],
    ['a service account with a name that the database cannot read', { subject: 'service_account', of: 'a\0b' }],
    ['an amount of nothing', { subject: 'team', amountNanoUsd: 0 }],
    ['an unknown period', { subject: 'team', period: 'year' }],
  ])('400: refuses %s', async (_, fields) => {
    const response = await keys.send('POST', PATH, { ...AMOUNT, period: 'day', ...fields })
    expect(await outcomeOf(response)).toBe('400 invalid_request')
  })

  it('400: refuses a member who was removed, and a key that was revoked', async () => {
    await expectOk('The invitation', keys.send('POST', `${TEAM}/invitations`, { email: 'gone@example.com' }))
    const memberId = await accountIdOf(keys.service, 'gone@example.com')
    await expectOk('The removal', keys.send('DELETE', `${TEAM}/members/${memberId}`))
    const { info } = await keys.createKey()
    await expectOk('The end of the key', keys.send('DELETE', `/v1/keys/${info.id}`))
    for (const gone of [
      { subject: 'member', of: 'gone@example.com' },
      { subject: 'key', of: info.id },
    ])
      expect(await outcomeOf(await keys.send('POST', PATH, { ...AMOUNT, period: 'day', ...gone }))).toBe(
        '400 invalid_request',
      )
  })

  it('409: refuses a second limit of the same subject and period, also at the same moment', async () => {
    const body = { subject: 'members', period: 'day', ...AMOUNT }
    const outcomes = await Promise.all([1, 2].map(async () => outcomeOf(await keys.send('POST', PATH, body))))
    expect(outcomes.toSorted()).toEqual(['201', '409 conflict'])
  })
})

describe('a spending limit', () => {
  it('is listed, read, changed and removed, with an audit event for each change, but not for the same amount', async () => {
    const { id } = await create({ subject: 'member', of: 'ada@example.com', period: 'day' })
    expect((await list()).map((limit) => limit.id)).toContain(id)
    const changed = await keys.send('PATCH', `${PATH}/${id}`, { amountNanoUsd: 5 })
    expect(await changed.json()).toMatchObject({ id, amountNanoUsd: 5 })
    const again = await keys.send('PATCH', `${PATH}/${id}`, { amountNanoUsd: 5 })
    expect(await again.json()).toMatchObject({ id, amountNanoUsd: 5 })
    expect(await (await keys.send('GET', `${PATH}/${id}`)).json()).toMatchObject({ id, amountNanoUsd: 5 })
    expect(await (await keys.send('DELETE', `${PATH}/${id}`)).json()).toEqual({ ok: true })
    for (const method of ['GET', 'DELETE']) {
      expect(await outcomeOf(await keys.send(method, `${PATH}/${id}`))).toBe('404 not_found')
    }
    expect(await outcomeOf(await keys.send('PATCH', `${PATH}/${id}`, AMOUNT))).toBe('404 not_found')
    const events = await keys.auditOf(id)
    expect(events).toMatchObject([
      {
        kind: 'spending_limit.created',
        details: { name: 'ada@example.com, day', subject: 'member', period: 'day' },
      },
      {
        kind: 'spending_limit.changed',
        details: { amountNanoUsd: 5, previousAmountNanoUsd: AMOUNT.amountNanoUsd },
      },
      { kind: 'spending_limit.removed' },
    ])
  })

  it('is found by its id in capital letters', async () => {
    const { id } = await create({ subject: 'member', of: 'ada@example.com', period: 'week' })
    const path = `${PATH}/${id.toUpperCase()}`
    expect(await (await keys.send('PATCH', path, { amountNanoUsd: 5 })).json()).toMatchObject({ id, amountNanoUsd: 5 })
    expect(await (await keys.send('GET', path)).json()).toMatchObject({ id, amountNanoUsd: 5 })
    expect(await (await keys.send('DELETE', path)).json()).toEqual({ ok: true })
    const events = await keys.auditOf(id)
    expect(events.map(({ kind }) => kind)).toEqual([
      'spending_limit.created',
      'spending_limit.changed',
      'spending_limit.removed',
    ])
  })

  it('400: has an id that is a UUID', async () => {
    for (const method of ['GET', 'DELETE']) {
      expect(await outcomeOf(await keys.send(method, `${PATH}/one`))).toBe('400 invalid_request')
    }
  })

  it('of a key moves to the key that replaces it, and counts both', async () => {
    const old = await keys.createKey()
    const { id } = await create({ subject: 'key', of: old.info.id, period: 'day' })
    const accountId = await accountIdOf(keys.service, 'ada@example.com')
    const keyOf = (keyId: string) => ({ accountId, key: { id: keyId, models: null, serviceAccount: null } })
    await spend(keys.service, 3, keyOf(old.info.id))
    const rotated = keys.send('POST', `/v1/keys/${old.info.id}/rotate`, { overlapSeconds: 0 })
    const next = await expectJson<{ key: string; info: { id: string } }>('The rotation', rotated)
    await spend(keys.service, 4, keyOf(next.info.id))
    const expected = { id, subjectId: next.info.id, subjectName: 'opencode', spentNanoUsd: 7 }
    expect(await (await keys.send('GET', `${PATH}/${id}`)).json()).toMatchObject(expected)
    await keys.send('PATCH', `${PATH}/${id}`, { amountNanoUsd: 9 })
    expect(await ownLimits(bearerOf(next.key))).toContainEqual(
      expect.objectContaining({ ...expected, remainingNanoUsd: 2 }),
    )
  })

  it('of a key that was replaced before is one of the key that replaces it', async () => {
    const old = await keys.createKey()
    const rotated = keys.send('POST', `/v1/keys/${old.info.id}/rotate`, {})
    const next = await expectJson<NewKey>('The rotation', rotated)
    const { id } = await create({ subject: 'key', of: old.info.id, period: 'day' })
    for (const { key } of [old, next])
      expect(await ownLimits(bearerOf(key))).toContainEqual(expect.objectContaining({ id }))
  })

  it('of a service account ends with it', async () => {
    const accounts = `${TEAM}/service-accounts`
    const made = keys.send('POST', accounts, { name: 'builds' })
    const account = await expectJson<{ id: string }>('The service account', made)
    const limit = await create({ subject: 'service_account', of: 'builds', period: 'day' })
    expect(limit).toMatchObject({ subjectId: account.id, subjectName: 'builds' })
    await keys.send('DELETE', `${accounts}/${account.id}`)
    expect((await list()).map(({ id }) => id)).not.toContain(limit.id)
  })
})

describe('listOwnLimits', () => {
  it('200: shows the limits that apply to the caller, with its own calls for a limit of each member', async () => {
    const limits = await ownLimits(keys.member)
    expect(limits.map(({ subject, period, spentNanoUsd }) => [subject, period, spentNanoUsd]).toSorted()).toEqual([
      ['member', 'week', 7_000],
      ['members', 'day', 7_000],
      ['team', 'month', 7_007],
    ])
    expect(await ownLimits(keys.stranger)).toEqual([])
  })

  it('401: refuses a request without a credential', async () => {
    expect(await outcomeOf(await keys.send('GET', '/v1/limits', undefined, {}))).toBe('401 unauthorized')
  })
})

describe('a limit of each member', () => {
  it('shows the most that a member has spent for whom it holds, not a service account or a member with a limit', async () => {
    const made = keys.send('POST', `${TEAM}/service-accounts`, { name: 'runner' })
    const runner = await expectJson<{ id: string }>('The service account', made)
    await create({ subject: 'member', of: 'ada@example.com', period: 'day' })
    await spend(keys.service, 900_000, { accountId: runner.id })
    await spend(keys.service, 500_000, { accountId: await accountIdOf(keys.service, 'ada@example.com') })
    const ofMembers = (await list()).find(({ subject, period }) => subject === 'members' && period === 'day')
    expect(ofMembers?.spentNanoUsd).toBe(7_000)
  })
})
