import { describe, expect, it } from 'vitest'
import { BASE_URL, startService } from '../support/service.ts'

describe.each([
  { operationId: 'getAuthorizationServer', path: '/.well-known/oauth-authorization-server' },
  { operationId: 'getOpenidConfiguration', path: '/.well-known/openid-configuration' },
  { operationId: 'getVendorbAuthorizationServer', path: '/vendorb/.well-known/oauth-authorization-server' },
] as const)('$operationId', ({ path }) => {
  describe('200', () => {
    it('names the endpoints, and each of them exists', async () => {
      await using service = await startService()
      const { data } = await service.client.GET(path)
      expect(data).toEqual({
        issuer: BASE_URL,
        device_authorization_endpoint: `${BASE_URL}/oauth/device_authorization`,
        token_endpoint: `${BASE_URL}/oauth/token`,
        revocation_endpoint: `${BASE_URL}/oauth/revoke`,
        jwks_uri: `${BASE_URL}/.well-known/jwks.json`,
        response_types_supported: [],
        grant_types_supported: ['urn:ietf:params:oauth:grant-type:device_code', 'refresh_token'],
        token_endpoint_auth_methods_supported: ['none'],
        revocation_endpoint_auth_methods_supported: ['none'],
      })
      for (const endpoint of [data?.device_authorization_endpoint, data?.token_endpoint, data?.revocation_endpoint]) {
        const response = await service.fetch((endpoint ?? '').replace(BASE_URL, ''), { method: 'POST' })
        expect(response.status).toBe(400)
      }
    })
  })
})
