import { describe, expect, it } from 'vitest'
import { readContract } from '../../src/http/contract.ts'
import { expectRequestLimit } from '../support/pages/assets.ts'
import { startService } from '../support/service.ts'

type Operations = Readonly<Record<string, { readonly servers?: readonly { readonly url: string }[] }>>
type Served = {
  readonly paths: Readonly<Record<string, Operations>>
  readonly servers: readonly { readonly url: string }[]
  readonly components: { readonly securitySchemes: Readonly<Record<string, { readonly name?: string }>> }
}

describe('getContract', () => {
  describe('200', () => {
    it('returns the contract with the base URL of this deployment', async () => {
      await using service = await startService()
      const served = (await (await service.fetch('/openapi.json')).json()) as Served
      expect(served.servers.map(({ url }) => url)).toEqual(['http://localhost:8787', 'http://localhost:8787'])
      expect(served.paths).toEqual(readContract().paths)
      expect(served.components.securitySchemes.SessionCookie?.name).toBe('svc_session')
    })

    it('names the server of each operation where the gateway has an address of its own', async () => {
      const [controlPlane, gateway] = ['http://localhost:8787', 'http://localhost:9999']
      await using service = await startService({ env: { SVC_GATEWAY_URL: gateway } })
      const { servers, paths } = (await (await service.fetch('/openapi.json')).json()) as Served
      expect(servers.map(({ url }) => url)).toEqual([controlPlane, gateway])
      const serversOf = (method: string, path: string) => paths[path]?.[method]?.servers?.map(({ url }) => url)
      expect(serversOf('post', '/v1/auth/device/start')).toEqual([controlPlane])
      expect(serversOf('post', '/v1/chat/completions')).toEqual([gateway])
      expect(serversOf('get', '/v1/limits')).toEqual([gateway])
      // Both roles serve it.
      expect(serversOf('get', '/healthz')).toBeUndefined()
    })

    it('names the cookies as they are over HTTPS', async () => {
      await using service = await startService({ env: { SVC_BASE_URL: 'https://svc.example.com' } })
      const { components, servers } = (await (await service.fetch('/openapi.json')).json()) as Served
      expect(servers[0]?.url).toBe('https://svc.example.com')
      expect(components.securitySchemes.SessionCookie?.name).toBe('__Host-svc_session')
      expect(components.securitySchemes.ApiKey?.name).toBe('x-api-key')
    })
  })

  describe('304', () => {
    it('answers a client that has the current version', async () => {
      await using service = await startService()
      const etag = (await service.fetch('/openapi.json')).headers.get('etag') ?? ''
      const again = (version: string) => service.fetch('/openapi.json', { headers: { 'if-none-match': version } })
      expect([etag.length, (await again(etag)).status, (await again('"other"')).status]).toEqual([24, 304, 200])
    })
  })

  describe('429', () => {
    it('limits the requests of one network', () => expectRequestLimit('/openapi.json'))
  })
})
