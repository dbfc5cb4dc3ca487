import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bearerOf, outcomeOf } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

/** The two paths of the settings of Claude Code: for a base URL at the root, and at `/vendorb`. */
const ROUTES = [
  { operationId: 'getManagedSettings', path: '/managed/settings' },
  { operationId: 'getVendorbManagedSettings', path: '/vendorb/managed/settings' },
] as const

let service: TestService
let token: string

beforeAll(async () => {
  service = await startService()
  token = (await service.signIn('ada@example.com')).accessToken
})
afterAll(() => service[Symbol.asyncDispose]())

describe.each(ROUTES)('$operationId', ({ path }) => {
  const get = (headers: Record<string, string> = {}) =>
    service.fetch(path, { headers: { authorization: `Bearer ${token}`, ...headers } })

  describe('200', () => {
    it('returns the models of the team, with a version', async () => {
      const response = await get()
      const body = (await response.json()) as { checksum: string; settings: { availableModels: string[] } }
      expect(response.headers.get('etag')).toBe(`"${body.checksum}"`)
      expect(body.settings.availableModels).toEqual(expect.arrayContaining(['svc/fast', 'vendorb/writer', 'opus']))
    })

    it('returns them again when the version is another one', async () => {
      expect((await get({ 'if-none-match': '"old"' })).status).toBe(200)
    })
  })

  describe('304', () => {
    it('returns nothing when the version is the current one', async () => {
      const etag = (await get()).headers.get('etag') ?? ''
      const response = await get({ 'if-none-match': etag })
      expect([response.status, await response.text(), response.headers.get('etag')]).toEqual([304, '', etag])
    })
  })

  describe('401', () => {
    it('refuses an unknown token', async () => {
      expect(await outcomeOf(await get({ authorization: 'Bearer wrong' }))).toBe('401 unauthorized')
    })
  })

  describe('503', () => {
    it('answers 503 and not 401 when the database cannot be reached', async () => {
      await using alone = await startService()
      const { accessToken } = await alone.signIn('ada@example.com')
      await alone.database.close()
      const headers = bearerOf(accessToken)
      expect(await outcomeOf(await alone.fetch(path, { headers }))).toBe('503 service_unavailable')
    })
  })
})
