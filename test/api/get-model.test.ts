import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bearerOf, outcomeOf } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const DIRECTORY = `
organizations:
  - name: acme
    teams:
      - name: core
        models: [svc/fast, svc/draft, svc/hidden]
        members: [{ email: ada@example.com }]
models:
  - { id: svc/fast, displayName: Fast, owner: svc, backendModel: 'qwen3:8b', aliases: [fast, 'claude-*'] }
  - { id: svc/draft, displayName: Draft, owner: svc, certified: false }
  - { id: svc/hidden, displayName: Hidden, owner: svc, published: false }
  - { id: svc/others, displayName: Others, owner: svc, aliases: [claude-x] }
`

/** The two routes of one model, which differ only in their format. */
const ROUTES = [
  { operationId: 'getModel', list: '/v1/models', path: '/v1/models/{id}' },
  { operationId: 'getMessagesModel', list: '/vendorb/v1/models', path: '/vendorb/v1/models/{id}' },
] as const

describe.each(ROUTES)('$operationId', ({ list, path }) => {
  let service: TestService
  let ada: string

  beforeAll(async () => {
    service = await startService({ directory: DIRECTORY })
    ada = (await service.signIn('ada@example.com')).accessToken
  })
  afterAll(() => service[Symbol.asyncDispose]())

  const get = (id: string, token = ada) => service.fetch(`${list}/${id}`, { headers: bearerOf(token) })

  describe('200', () => {
    it.each(['svc/fast', 'svc/draft', 'fast'])('returns %s as the list shows it', async (id) => {
      const client = service.clientOf(ada)
      const { data } = await client.GET(path, { params: { path: { id } } })
      const listed = (await client.GET(list)).data?.data.find((model) => model.id === id)
      expect(listed).toBeDefined()
      expect(data).toEqual(listed)
    })

    it.each(['svc%2Ffast', 'svc%2ffast', 'svc%2Ffast?beta=true', '%73vc%2Ffast/'])('finds %s', async (id) => {
      expect(await (await get(id)).json()).toMatchObject({ id: 'svc/fast', type: 'model', display_name: 'Fast' })
    })

    it('returns the model of a prefix under the name that was asked for', async () => {
      const named: unknown = await (await get('claude-opus-4-7')).json()
      expect(named).toMatchObject({ id: 'claude-opus-4-7', display_name: 'Fast' })
      expect(JSON.stringify(named)).toMatch(/"alias_?of":"svc\/fast"/i)
    })
  })

  describe('401', () => {
    it('refuses an invalid token', async () => {
      expect(await outcomeOf(await get('svc%2Ffast', 'wrong'))).toBe('401 unauthorized')
    })
  })

  describe('404', () => {
    it('answers the same for a hidden, a foreign and an unknown model', async () => {
      const responses = await Promise.all(['hidden', 'others', 'none'].map((name) => get(`svc%2F${name}`)))
      const answers = await Promise.all(
        responses.map(async (response) => [response.status, await response.json()] as const),
      )
      expect(answers[0]).toMatchObject([404, { error: { code: 'not_found' } }])
      expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1)
    })

    it.each(['svc/fast', 'claude-x', 'SVC%2FFAST', 'svc%252Ffast', '%E0%A4%A'])('does not find %s', async (id) => {
      expect(await outcomeOf(await get(id))).toBe('404 not_found')
    })
  })

  describe('503', () => {
    it('answers 503 and not 401 when the database cannot be reached', async () => {
      await using alone = await startService({ directory: DIRECTORY })
      const { accessToken } = await alone.signIn('ada@example.com')
      await alone.database.close()
      const headers = bearerOf(accessToken)
      expect(await outcomeOf(await alone.fetch(`${list}/svc%2Ffast`, { headers }))).toBe('503 service_unavailable')
    })
  })
})
