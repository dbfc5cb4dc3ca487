import { beforeAll, describe, expect, it } from 'vitest'
import { readContract, routesOf } from '../../src/http/contract.ts'
import { expectRequestLimit } from '../support/pages/assets.ts'
import { startService } from '../support/service.ts'

describe('showDocs', () => {
  describe('200', () => {
    let response: Response
    let page: string

    beforeAll(async () => {
      await using service = await startService({ env: { SVC_GATEWAY_URL: 'http://localhost:9999' } })
      response = await service.fetch('/docs')
      page = await response.text()
    })

    it('shows every operation in the order of the contract', () => {
      const routes = routesOf(readContract())
      for (const { path } of routes) expect(page).toContain(`<code>${path}</code>`)
      const shown = [...page.matchAll(/<h3 id="([^"]*)"><a href="#\1">/g)].map(([, id]) => id)
      for (const { id } of routes) expect(shown).toContain(id)
      for (const [before, after] of [
        ['startDeviceLogin', 'pollDeviceLogin'],
        ['startPasskeyLogin', 'finishPasskeyLogin'],
        ['pollDeviceLogin', 'refreshTokens'],
      ]) {
        expect(shown.indexOf(before)).toBeLessThan(shown.indexOf(after))
      }
    })

    it('loads only its own stylesheet and runs no script', () => {
      expect(response.headers.get('content-security-policy')).toMatch(/default-src 'none'.*style-src 'self'/)
      expect(page).not.toMatch(/<script|style=|<style|\son\w+=|src=/)
      expect([...page.matchAll(/<link[^>]*href="([^"]*)"/g)].map(([, href]) => href)).toEqual(['/docs/docs.css'])
    })

    it('has a target for each of its links', () => {
      const ids = new Set([...page.matchAll(/\sid="([^"]*)"/g)].map(([, id]) => id))
      const targets = [...page.matchAll(/href="#([^"]*)"/g)].map(([, target]) => target)
      expect(targets.filter((target) => !ids.has(target))).toEqual([])
      expect(targets.length).toBeGreaterThan(20)
    })

    it('has the title "API reference · svc"', () => {
      expect(page).toContain('<title>API reference · svc</title>')
    })

    it('starts with commands for this deployment', () => {
      expect(page).toContain('curl http://localhost:8787/v1/auth/device/start')
      expect(page).toContain('curl http://localhost:9999/v1/chat/completions')
      expect(page).toContain('import { createClient, deviceLogin, streamChatCompletion } from')
    })

    it('says at which address an operation is', () => {
      const articleOf = (id: string) => new RegExp(`<h3 id="${id}">[^]*?</article>`).exec(page)?.[0]
      expect(articleOf('startDeviceLogin')).toContain('At <code>http://localhost:8787</code>.')
      expect(articleOf('createChatCompletion')).toContain('At <code>http://localhost:9999</code>.')
      expect(articleOf('getHealth')).not.toContain('At <code>')
    })

    it('shows the limits and patterns of fields', () => {
      expect(page).toMatch(
        /<code>deviceId<\/code>.*1 to 128 characters, pattern <code>\^\[A-Za-z0-9\._:-\]\+\$<\/code>/,
      )
    })

    it('shows a sample of each error', () => {
      expect(page).toMatch(
        /&quot;code&quot;: &quot;not_invited&quot;,\s+&quot;message&quot;: &quot;This address has no active/,
      )
      expect(page).toMatch(/&quot;error&quot;: &quot;invalid_grant&quot;,\s+&quot;error_description&quot;: &quot;/)
    })
  })

  describe('429', () => {
    it('limits the requests of one network', () => expectRequestLimit('/docs'))
  })
})
