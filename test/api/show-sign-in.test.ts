import { describe, expect, it } from 'vitest'
import { startService } from '../support/service.ts'

describe('showSignIn', () => {
  describe('200', () => {
    it('is a page that runs only scripts of this host', async () => {
      await using service = await startService()
      const response = await service.fetch('/sign-in')
      expect(response.status).toBe(200)
      expect(response.headers.get('content-security-policy')).toContain("script-src 'self'")
      expect(await response.text()).toContain('Sign in with a passkey')
    })

    it('ignores redirect targets in the query', async () => {
      await using service = await startService()
      const response = await service.fetch('/sign-in?next=https://evil.example&callbackURL=//evil.example')
      expect(response.status).toBe(200)
      expect(response.headers.get('location')).toBeNull()
      expect(await response.text()).not.toContain('evil.example')
    })
  })
})
