import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTeamWithModels } from '../support/team-with-models.ts'
import type { TeamWithModels } from '../support/team-with-models.ts'
import { describeRefusals } from '../support/refusals.ts'
import { bearerOf, json, messageOf, outcomeOf } from '../support/requests.ts'

const UNKNOWN_ID = '01939c1e-6a5b-7c3d-8e4f-0a1b2c3d4e5f'
const PATH = '/v1/keys'

let keys: TeamWithModels

beforeAll(async () => {
  keys = await startTeamWithModels()
})
afterAll(() => keys[Symbol.asyncDispose]())

const create = (body: object, by = keys.ada) => keys.service.fetch(PATH, json(body, by))
const rotate = (id: string, body: object | null = {}, by = keys.ada) =>
  keys.service.fetch(`${PATH}/${id}/rotate`, body ? json(body, by) : { method: 'POST', headers: by })
const revoke = (id: string, by = keys.ada) => keys.service.fetch(`${PATH}/${id}`, { method: 'DELETE', headers: by })
const modelsFor = (key: string) => keys.service.fetch('/v1/models', { headers: bearerOf(key) })
const listed = async (by = keys.ada) => {
  const response = await keys.service.fetch(PATH, { headers: by })
  return ((await response.json()) as { keys: { id: string; name: string; expiresAt: string }[] }).keys
}

describe('listApiKeys', () => {
  describe('200', () => {
    it('lists the working keys of the account in all its teams, the newest first, without secrets', async () => {
      await using own = await startTeamWithModels()
      const first = await own.createKey({ name: 'First' })
      own.service.clock.advance({ seconds: 60 })
      const second = await own.createKey({ name: 'Second', team: '@acme/other', models: ['svc/deep'] })
      await own.createKey({ name: 'Not hers' }, own.member)
      const gone = await own.createKey({ name: 'Revoked' })
      await own.service.fetch(`${PATH}/${gone.info.id}`, { method: 'DELETE', headers: own.ada })
      await own.createKey({ name: 'Expired', expiresInDays: 1 })
      own.service.clock.advance({ days: 1 })
      const ada = bearerOf((await own.service.signIn('ada@example.com')).accessToken)
      const response = await own.service.fetch(PATH, { headers: ada })
      const text = await response.text()
      expect((JSON.parse(text) as { keys: object[] }).keys).toMatchObject([
        { id: second.info.id, name: 'Second', team: '@acme/other', models: ['svc/deep'], lastUsedAt: null },
        { id: first.info.id, name: 'First', team: '@acme/core', models: null, replacedBy: null },
      ])
      expect(text).not.toContain(first.key.slice(9))
      expect(response.headers.get('cache-control')).toBe('no-store')
    })
  })

  describe('401', () => {
    it('refuses a caller who is not signed in', async () => {
      expect(await outcomeOf(await keys.service.fetch(PATH))).toBe('401 unauthorized')
    })
  })
})

describe('createApiKey', () => {
  describe('201', () => {
    it('makes a key that lists models, for 90 days, and stores only its hash', async () => {
      const { key, info } = await keys.createKey({ name: '  Build  ' })
      expect(key).toMatch(/^svck_[\w-]{49}$/)
      const createdAt = keys.service.clock.now()
      expect(info).toMatchObject({
        name: 'Build',
        prefix: key.slice(0, 9),
        team: '@acme/core',
        models: null,
        createdAt: createdAt.toISOString(),
        expiresAt: new Date(createdAt.getTime() + 90 * 86_400_000).toISOString(),
      })
      expect((await modelsFor(key)).status).toBe(200)
      const row = await keys.service.database.prisma.apiKey.findUniqueOrThrow({ where: { id: info.id } })
      expect(JSON.stringify(row)).not.toContain(key.slice(9, 30))
    })

    it('writes an audit event with the account and each model once, and nothing of the key', async () => {
      const { key, info } = await keys.createKey({ models: ['svc/fast', 'svc/fast'] })
      const rows = await keys.auditOf(info.id)
      expect(rows).toMatchObject([{ kind: 'api_key.created', details: { name: 'opencode', models: ['svc/fast'] } }])
      expect(JSON.stringify(rows.map(({ details }) => details))).not.toContain(key.slice(5, 20))
    })
  })

  describe('400', () => {
    it('names the models that the team does not have, also one that is not published', async () => {
      const response = await create({ name: 'x', models: ['svc/fast', 'svc/hidden', 'svc/none'] })
      expect(response.status).toBe(400)
      expect(await messageOf(response)).toBe(
        'models: the team does not have svc/hidden, svc/none. It has svc/deep, svc/fast.',
      )
    })

    it('knows the models that admins have added, but for those that are not published', async () => {
      const { prisma } = keys.service.database
      const { id: teamId } = await prisma.team.findFirstOrThrow({ where: { name: 'core' } })
      const added = { teamId, displayName: 'Added', serve: [], createdAt: keys.service.clock.now() }
      const data = [
        { ...added, id: 'acme/core/shown' },
        { ...added, id: 'acme/core/draft', published: false },
      ]
      await prisma.adminModel.createMany({ data })
      const response = await create({ name: 'x', models: ['acme/core/shown', 'acme/core/draft'] })
      await prisma.adminModel.deleteMany()
      expect(await messageOf(response)).toBe(
        'models: the team does not have acme/core/draft. It has acme/core/shown, svc/deep, svc/fast.',
      )
    })

    it('refuses a name without visible characters, and a lifetime above a year', async () => {
      expect(await outcomeOf(await create({ name: ' \u200b ' }))).toBe('400 invalid_request')
      expect(await outcomeOf(await create({ name: 'x', expiresInDays: 367 }))).toBe('400 invalid_request')
      expect(await messageOf(await create({ name: 'x', expiresInDays: 1.5 }))).toBe(
        'The field expiresInDays must be a whole number.',
      )
    })
  })

  describeRefusals({
    service: () => keys.service,
    method: 'POST',
    path: PATH,
    by: () => keys.ada,
    body: { name: 'x' },
  })

  describe('403', () => {
    it('refuses a team that the caller is not a member of', async () => {
      const response = await create({ name: 'x', team: '@acme/other' }, keys.member)
      expect(await outcomeOf(response)).toBe('403 not_invited')
    })

    it('refuses a caller without a fresh sign-in, so that a stolen token cannot become permanent', async () => {
      expect(await outcomeOf(await create({ name: 'x' }, keys.adaStale))).toBe('403 reauthenticate')
    })
  })

  describe('409', () => {
    it('refuses the 51st key that works, and takes one more after another was revoked', async () => {
      const made = await Promise.all(Array.from({ length: 50 }, () => keys.createKey({}, keys.member)))
      expect(await outcomeOf(await create({ name: 'x' }, keys.member))).toBe('409 conflict')
      expect((await revoke(made[0]?.info.id ?? '', keys.member)).status).toBe(200)
      expect((await create({ name: 'x' }, keys.member)).status).toBe(201)
      expect(await outcomeOf(await create({ name: 'x' }, keys.member))).toBe('409 conflict')
    })
  })
})

describe('rotateApiKey', () => {
  describe('201', () => {
    it('makes a key with the same name, team and models, and the old one works for the overlap', async () => {
      const old = await keys.createKey({ name: 'Agent', models: ['svc/fast'] })
      const { key, info } = (await (await rotate(old.info.id, { overlapSeconds: 3600 })).json()) as {
        key: string
        info: { id: string }
      }
      expect(info).toMatchObject({ name: 'Agent', team: '@acme/core', models: ['svc/fast'], replacedBy: null })
      const endsAt = new Date(keys.service.clock.now().getTime() + 3_600_000).toISOString()
      const own = (await listed()).filter(({ name }) => name === 'Agent')
      expect(own).toMatchObject([{ id: info.id }, { id: old.info.id, replacedBy: info.id, expiresAt: endsAt }])
      expect((await modelsFor(key)).status).toBe(200)
      expect((await modelsFor(old.key)).status).toBe(200)
      expect((await keys.auditOf(info.id)).at(0)).toMatchObject({
        kind: 'api_key.rotated',
        details: { replaces: old.info.id },
      })
    })

    it('ends the old key at once without an overlap', async () => {
      const old = await keys.createKey()
      expect((await modelsFor(old.key)).status).toBe(200)
      expect((await rotate(old.info.id, { overlapSeconds: 0 })).status).toBe(201)
      expect(await outcomeOf(await modelsFor(old.key))).toBe('401 unauthorized')
    })

    it('needs no body', async () => {
      const { info } = await keys.createKey()
      expect((await rotate(info.id, null)).status).toBe(201)
    })
  })

  describeRefusals({
    service: () => keys.service,
    method: 'POST',
    path: `${PATH}/${UNKNOWN_ID}/rotate`,
    by: () => keys.ada,
    body: { overlapSeconds: 1 },
  })

  describe('403', () => {
    it('refuses a caller without a fresh sign-in', async () => {
      const { info } = await keys.createKey()
      expect(await outcomeOf(await rotate(info.id, {}, keys.adaStale))).toBe('403 reauthenticate')
    })
  })

  describe('404', () => {
    it('hides keys of other accounts, revoked keys and keys that do not exist', async () => {
      const { info } = await keys.createKey()
      expect(await outcomeOf(await rotate(info.id, {}, keys.member))).toBe('404 not_found')
      await revoke(info.id)
      expect(await outcomeOf(await rotate(info.id))).toBe('404 not_found')
      expect(await outcomeOf(await rotate(UNKNOWN_ID))).toBe('404 not_found')
    })
  })

  describe('409', () => {
    it('refuses a key that was rotated before, also when two requests race', async () => {
      const { info } = await keys.createKey()
      const outcomes = await Promise.all([1, 2].map(async () => (await rotate(info.id)).status))
      expect(outcomes.toSorted()).toEqual([201, 409])
      expect(await messageOf(await rotate(info.id))).toContain('Rotate the key that replaced it.')
    })
  })
})

describe('revokeApiKey', () => {
  describe('200', () => {
    it('ends the key at once in the process that revokes it, with an audit event', async () => {
      const { key, info } = await keys.createKey()
      expect((await modelsFor(key)).status).toBe(200)
      expect((await revoke(info.id)).status).toBe(200)
      expect(await outcomeOf(await modelsFor(key))).toBe('401 unauthorized')
      expect((await keys.auditOf(info.id)).map(({ kind }) => kind)).toEqual(['api_key.created', 'api_key.revoked'])
    })
  })

  describe('400', () => {
    it('refuses an id that is no UUID', async () => {
      expect(await outcomeOf(await revoke('nonsense'))).toBe('400 invalid_request')
    })
  })

  describeRefusals({
    service: () => keys.service,
    method: 'DELETE',
    path: `${PATH}/${UNKNOWN_ID}`,
    by: () => keys.ada,
  })

  describe('404', () => {
    it('hides keys of other accounts and keys that do not exist', async () => {
      const { info } = await keys.createKey()
      expect(await outcomeOf(await revoke(info.id, keys.member))).toBe('404 not_found')
      expect(await outcomeOf(await revoke(UNKNOWN_ID))).toBe('404 not_found')
    })
  })
})
