import { describe, expect, it } from 'vitest'
import { expectRequestLimit } from '../support/pages/assets.ts'
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
    it('limits the requests of one network', () => expectRequestLimit('/docs/docs.css'))
  })
})
