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
      - name: empty
        members: [{ email: eve@example.com }]
models:
  - { id: svc/fast, displayName: Fast, owner: svc, backendModel: 'qwen3:8b', aliases: [fast, 'claude-*'] }
  - { id: svc/draft, displayName: Draft, owner: svc, certified: false }
  - { id: svc/hidden, displayName: Hidden, owner: svc, published: false }
  - { id: svc/others, displayName: Others, owner: svc }
`

/** The three lists of models, which differ only in their format. */
const LISTS = [
  { operationId: 'listModels', path: '/v1/models' },
  { operationId: 'listCodexModels', path: '/codex/v1/models' },
  { operationId: 'listMessagesModels', path: '/vendorb/v1/models' },
] as const

describe.each(LISTS)('$operationId', ({ path }) => {
  let service: TestService
  let ada: string
  let eve: string

  beforeAll(async () => {
    service = await startService({ directory: DIRECTORY })
    ada = (await service.signIn('ada@example.com')).accessToken
    eve = (await service.signIn('eve@example.com')).accessToken
  })
  afterAll(() => service[Symbol.asyncDispose]())

  const listFor = (token: string, query = '', init: RequestInit = {}) =>
    service.fetch(path + query, { ...init, headers: bearerOf(token) })

  describe('200', () => {
    it('lists the published models of the team by id, and their whole aliases', async () => {
      const { data } = await service.clientOf(ada).GET(path)
      expect(data?.data.map(({ id }) => id)).toEqual(['svc/draft', 'svc/fast', 'fast'])
    })

    it.each(['?limit=1000', '?client_version=0.169.0', '?after_id=&nonsense'])(
      'ignores unknown query parameters: %s',
      async (query) => {
        expect((await listFor(ada, query)).status).toBe(200)
      },
    )

    it('is empty for a team without models', async () => {
      const { data } = await service.clientOf(eve).GET(path)
      expect(data?.data).toEqual([])
    })

    it('answers HEAD without a body', async () => {
      const response = await listFor(ada, '', { method: 'HEAD' })
      expect([response.status, await response.text()]).toEqual([200, ''])
    })
  })

  describe('401', () => {
    it('refuses an invalid token', async () => {
      expect(await outcomeOf(await listFor('wrong'))).toBe('401 unauthorized')
    })
  })

  describe('503', () => {
    it('answers 503 and not 401 when the database cannot be reached', async () => {
      await using alone = await startService({ directory: DIRECTORY })
      const { accessToken } = await alone.signIn('ada@example.com')
      await alone.database.close()
      const response = await alone.fetch(path, { headers: bearerOf(accessToken) })
      expect(await outcomeOf(response)).toBe('503 service_unavailable')
    })
  })
})
