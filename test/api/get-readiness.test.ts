import { describe, expect, it } from 'vitest'
import { makeHealthHandlers } from '../../src/server/health.ts'
import { startService } from '../support/service.ts'

describe('getReadiness', () => {
  describe('200', () => {
    it('answers ok when the database can be reached', async () => {
      await using service = await startService()
      const { data, response } = await service.client.GET('/readyz')
      expect(response.status).toBe(200)
      expect(data).toEqual({ status: 'ok', database: 'ok' })
    })

    it('answers disabled when no database is configured', async () => {
      const answered: unknown[] = []
      const reply = { status: (status: number) => ({ json: (body: unknown) => answered.push({ status, body }) }) }
      // The handler does not use the request, and uses only these methods of the response.
      await makeHealthHandlers({ database: null, canServeAlone: false, isDraining: () => false }).getReadiness(
        {} as never,
        reply as never,
      )
      expect(answered).toEqual([{ status: 200, body: { status: 'ok', database: 'disabled' } }])
    })
  })

  describe('200 while the database is unavailable', () => {
    it('for a gateway, which still serves known callers', async () => {
      await using service = await startService({ env: { SVC_ROLE: 'gateway', SVC_DATABASE_URL: 'memory:' } })
      await service.database.close()
      const response = await service.fetch('/readyz')
      expect(response.status).toBe(200)
      expect(await response.json()).toEqual({ status: 'ok', database: 'unavailable' })
    })
  })

  describe('503', () => {
    it('answers unavailable when the database cannot be reached', async () => {
      await using service = await startService()
      await service.database.close()
      const response = await service.fetch('/readyz')
      expect(response.status).toBe(503)
      expect(await response.json()).toEqual({ status: 'unavailable', database: 'unavailable' })
    })
  })
})
