import { describe, expect, it } from 'vitest'
import { startService } from '../support/service.ts'

describe('pollDeviceLogin', () => {
  describe('200', () => {
    it('gives the token set of the account that approved', async () => {
      await using service = await startService()
      const { deviceCode } = await service.startLogin('ada@example.com', { deviceId: 'laptop-7' })
      await service.approveByMail('ada@example.com')

      const { data } = await service.client.POST('/v1/auth/device/poll', { body: { deviceCode } })

      expect(data).toMatchObject({
        account: 'ada@example.com',
        organization: 'acme',
        team: '@acme/core',
        deviceId: 'laptop-7',
        refreshToken: expect.stringMatching(/^svcr_/),
      })
    })
  })

  describe('428', () => {
    it('says that nobody has approved yet', async () => {
      await using service = await startService()
      const { deviceCode } = await service.startLogin('ada@example.com')

      const { error, response } = await service.client.POST('/v1/auth/device/poll', { body: { deviceCode } })

      expect(response.status).toBe(428)
      expect(error?.error.code).toBe('authorization_pending')
    })
  })

  describe('429', () => {
    it('refuses a second poll inside the interval and says how long to wait', async () => {
      await using service = await startService()
      const { deviceCode } = await service.startLogin('ada@example.com')
      const poll = () => service.client.POST('/v1/auth/device/poll', { body: { deviceCode } })

      await poll()
      service.clock.advance({ seconds: 4 })
      const tooSoon = await poll()

      expect(tooSoon.response.status).toBe(429)
      expect(tooSoon.error?.error.code).toBe('rate_limited')
      expect(tooSoon.response.headers.get('retry-after')).toBe('1')
    })
  })
})
