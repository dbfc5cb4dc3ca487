import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

let service: TestService

beforeAll(async () => {
  service = await startService()
})
afterAll(() => service[Symbol.asyncDispose]())

describe('showSignIn', () => {
  describe('200', () => {
    it('is a page with both ways to sign in that runs only scripts of this host', async () => {
      const response = await service.fetch('/sign-in')
      expect(response.status).toBe(200)
      expect(response.headers.get('content-security-policy')).toContain("script-src 'self'")
      const page = await response.text()
      expect(page).toContain('Sign in with a passkey')
      expect(page).toContain('Email me a sign-in link')
    })

    it('keeps the user code that the person came to approve', async () => {
      const page = await (await service.fetch('/sign-in?userCode=BCDF-GHJK')).text()
      expect(page).toContain('<input type="hidden" name="userCode" value="BCDF-GHJK" />')
    })

    it('offers no email where none can be sent', async () => {
      await using silent = await startService({ mail: false })
      const page = await (await silent.fetch('/sign-in')).text()
      expect(page).not.toContain('Email me')
      expect(page).toContain('Sign in with a passkey')
    })

    it('ignores redirect targets in the query', async () => {
      const response = await service.fetch('/sign-in?next=https://evil.example&callbackURL=//evil.example')
      expect(response.status).toBe(200)
      expect(response.headers.get('location')).toBeNull()
      expect(await response.text()).not.toContain('evil.example')
    })
  })

  describe('400', () => {
    it('refuses a user code that is too long', async () => {
      const response = await service.fetch(`/sign-in?userCode=${'x'.repeat(33)}`, { headers: { accept: 'text/html' } })
      expect([response.status, response.headers.get('content-type')]).toEqual([400, 'text/html; charset=utf-8'])
    })
  })
})
