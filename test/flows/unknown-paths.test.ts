import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { outcomeOf } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const BROWSER = { accept: 'text/html,application/xhtml+xml;q=0.9,*/*;q=0.8' }
let service: TestService

beforeAll(async () => {
  service = await startService()
})
afterAll(() => service[Symbol.asyncDispose]())

describe('an unknown path', () => {
  it.each(['/index.html', '/nothing', '/v1/nothing', '/device/nothing', '/%zz'])(
    'answers a browser with a page and its headers: %s',
    async (path) => {
      const response = await fetch(service.origin + path, { headers: BROWSER })
      expect(response.status).toBe(404)
      const page = await response.text()
      expect(page).toMatch(/<h1>Nothing here<\/h1>/)
      expect(page).toContain('href="/device"')
      expect(Object.fromEntries(response.headers)).toMatchObject({
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy':
          "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; " +
          "base-uri 'none'",
        'x-frame-options': 'DENY',
        'referrer-policy': 'no-referrer',
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
        'x-robots-tag': 'noindex',
        'x-request-id': expect.any(String) as string,
      })
      expect(page).toContain(response.headers.get('x-request-id'))
    },
  )

  it('does not repeat the address on its page', async () => {
    const response = await fetch(`${service.origin}/typed-by-somebody?q=typed-by-somebody`, { headers: BROWSER })
    expect(await response.text()).not.toContain('typed-by-somebody')
  })

  it.each(['application/json', '*/*', 'image/avif,image/webp,*/*;q=0.8'])(
    'answers a program that accepts %s with JSON',
    async (accept) => {
      const response = await fetch(`${service.origin}/nothing`, { headers: { accept } })
      expect(response.headers.get('content-type')).toMatch(/^application\/json/)
      expect(await outcomeOf(response)).toBe('404 not_found')
    },
  )

  it('answers with JSON where a known route has no such resource', async () => {
    const { accessToken } = await service.signIn('ada@example.com')
    const headers = { ...BROWSER, authorization: `Bearer ${accessToken}` }
    const response = await fetch(`${service.origin}/v1/teams/other`, { headers })
    expect(await outcomeOf(response)).toMatch(/^40[04] /)
    expect(response.headers.get('content-type')).toMatch(/^application\/json/)
  })

  it.each([
    ['control-plane', '/v1/models/svc%2Ffast', 'http://localhost:9999'],
    ['control-plane', '/v1/chat/completions', 'http://localhost:9999'],
    ['gateway', '/v1/usage', 'http://localhost:8787'],
  ])('names the address of a route that the %s does not have: %s', async (role, path, url) => {
    await using split = await startService({ env: { SVC_ROLE: role, SVC_GATEWAY_URL: 'http://localhost:9999' } })
    const response = await fetch(split.origin + path)
    expect(await outcomeOf(response.clone())).toBe('404 not_found')
    expect(await response.json()).toMatchObject({
      error: { message: `No such route here. It is at ${url}. GET /docs lists the routes.` },
    })
  })

  it('answers a browser with JSON on a gateway alone, which has no pages', async () => {
    await using gateway = await startService({ env: { SVC_ROLE: 'gateway' } })
    const response = await fetch(`${gateway.origin}/nothing`, { headers: BROWSER })
    expect(await outcomeOf(response)).toBe('404 not_found')
  })
})
