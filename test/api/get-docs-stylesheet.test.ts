import { describe, expect, it } from 'vitest'
import { startService } from '../support/service.ts'

describe('getDocsStylesheet', () => {
  describe('200', () => {
    it('returns a stylesheet that loads no other files', async () => {
      await using service = await startService()
      const response = await service.fetch('/docs/docs.css')
      expect(response.headers.get('content-type')).toBe('text/css; charset=utf-8')
      expect(await response.text()).not.toMatch(/@import|url\(/)
    })
  })

  describe('429', () => {
    it('limits the requests of one network', async () => {
      await using service = await startService({ env: { SVC_LIMIT_REQUESTS_PER_MINUTE: '2' } })
      const statuses: number[] = []
      for (let count = 0; count < 3; count++) statuses.push((await service.fetch('/docs/docs.css')).status)
      expect(statuses).toEqual([200, 200, 429])
      expect((await service.fetch('/healthz')).status).toBe(200)
    })
  })
})
