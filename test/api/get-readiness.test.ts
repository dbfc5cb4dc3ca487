import { describe, expect, it } from 'vitest'
import { healthRoutes } from '../../src/http/health.ts'
import { startService } from '../support/service.ts'

describe('getReadiness', () => {
  describe('200', () => {
    it('says that the database answers', async () => {
      await using service = await startService()
      const { data, response } = await service.client.GET('/readyz')
      expect(response.status).toBe(200)
      expect(data).toEqual({ status: 'ok', database: 'ok' })
    })

    it('says that no database is configured', async () => {
      const answered: unknown[] = []
      const reply = { status: (status: number) => ({ json: (body: unknown) => answered.push({ status, body }) }) }
      // The handler asks nothing of the request, and of the answer only this.
      await healthRoutes({ database: null, canServeAlone: false, isDraining: () => false }).getReadiness(
        {} as never,
        reply as never,
      )
      expect(answered).toEqual([{ status: 200, body: { status: 'ok', database: 'disabled' } }])
    })
  })

  describe('200 while the database is away', () => {
    it('for a gateway, which still serves known callers', async () => {
      await using service = await startService({ env: { SVC_ROLE: 'gateway', SVC_DATABASE_URL: 'memory:' } })
      await service.database.close()
      const response = await service.fetch('/readyz')
      expect(response.status).toBe(200)
      expect(await response.json()).toEqual({ status: 'ok', database: 'unavailable' })
    })
  })

  describe('503', () => {
    it('says that the database is out of reach', async () => {
      await using service = await startService()
      await service.database.close()
      const response = await service.fetch('/readyz')
      expect(response.status).toBe(503)
      expect(await response.json()).toEqual({ status: 'unavailable', database: 'unavailable' })
    })
  })
})
