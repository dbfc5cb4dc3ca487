import { describe, expect, it } from 'vitest'
import { readContract, routesOf } from '../../src/http/contract.ts'
import { startService } from '../support/service.ts'

describe('showDocs', () => {
  describe('200', () => {
    it('shows every operation, and loads nothing but its own stylesheet', async () => {
      await using service = await startService()
      const response = await service.fetch('/docs')
      const page = await response.text()
      for (const { id, path } of routesOf(readContract())) {
        expect(page).toContain(`id="${id}"`)
        expect(page).toContain(`<code>${path}</code>`)
      }
      expect(response.headers.get('content-security-policy')).toMatch(/default-src 'none'.*style-src 'self'/)
      expect(page).not.toMatch(/<script|style=|<style|\son\w+=|src=/)
      expect([...page.matchAll(/<link[^>]*href="([^"]*)"/g)].map(([, href]) => href)).toEqual(['/docs/docs.css'])
    })

    it('has a target for each of its links', async () => {
      await using service = await startService()
      const page = await (await service.fetch('/docs')).text()
      const ids = new Set([...page.matchAll(/\sid="([^"]*)"/g)].map(([, id]) => id))
      const targets = [...page.matchAll(/href="#([^"]*)"/g)].map(([, target]) => target)
      expect(targets.filter((target) => !ids.has(target))).toEqual([])
      expect(targets.length).toBeGreaterThan(20)
    })
  })
})
