import { importJWK, jwtVerify } from 'jose'
import { describe, expect, it } from 'vitest'
import { BASE_URL, startService } from '../support/service.ts'

describe('getKeySet', () => {
  describe('200', () => {
    it('publishes keys that verify an access token, without their private parts', async () => {
      await using service = await startService()
      const { data, response } = await service.client.GET('/.well-known/jwks.json')
      const [key] = data?.keys ?? []
      if (!key) throw new Error('There is no key.')

      expect(Object.keys(key).sort()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x'])
      expect(response.headers.get('cache-control')).toBe('public, max-age=300')

      const { accessToken } = await service.signIn('ada@example.com')
      const { payload, protectedHeader } = await jwtVerify(accessToken, await importJWK(key), {
        issuer: BASE_URL,
        audience: 'svc-gateway',
        currentDate: service.clock.now(),
      })
      expect(protectedHeader).toEqual({ alg: 'EdDSA', typ: 'at+jwt', kid: key.kid })
      expect(payload).toMatchObject({ org: 'acme', team: '@acme/core', role: 'admin' })
    })
  })
})
