import { describe, expect, it } from 'vitest'
import { bearerOf } from '../support/requests.ts'
import { startService } from '../support/service.ts'

describe('showSessionShell', () => {
  describe('200', () => {
    it('is the same page with and without a trailing slash, for every caller, and runs only scripts of this host', async () => {
      await using service = await startService()
      const { accessToken } = await service.signIn('ada@example.com')
      const plain = await service.fetch('/session')
      const slash = await service.fetch('/session/')
      const signedIn = await service.fetch('/session', { headers: bearerOf(accessToken) })
      expect([plain.status, slash.status, signedIn.status]).toEqual([200, 200, 200])
      const page = await plain.text()
      expect(await slash.text()).toBe(page)
      expect(await signedIn.text()).toBe(page)
      const policy = plain.headers.get('content-security-policy')
      expect(policy).toContain("default-src 'none'")
      expect(policy).toContain("script-src 'self'; connect-src 'self'")
    })

    it('does not show values of the URL', async () => {
      await using service = await startService()
      const response = await service.fetch('/session?share=secret-share')
      expect(await response.text()).not.toContain('secret-share')
    })
  })
})
