import { once } from 'node:events'
import { request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bearerOf, outcomeOf } from '../support/requests.ts'
import { BASE_URL, startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const PATH = '/.well-known/opencode'
const TELEMETRY = [
  { operationId: 'acceptMetrics', path: '/v1/metrics' },
  { operationId: 'acceptLogs', path: '/v1/logs' },
  { operationId: 'acceptTraces', path: '/v1/traces' },
  { operationId: 'acceptVendorbMetrics', path: '/vendorb/v1/metrics' },
  { operationId: 'acceptVendorbLogs', path: '/vendorb/v1/logs' },
  { operationId: 'acceptVendorbTraces', path: '/vendorb/v1/traces' },
] as const

/** A model whose name refers to a file and a variable, as opencode writes that. */
const REFERRING = `
organizations:
  - { name: acme, teams: [{ name: core, models: [svc/fast], members: [{ email: ada@example.com }] }] }
models:
  - { id: svc/fast, displayName: 'Fast {file:/etc/passwd}{env:HOME} {x}', owner: svc, backendModel: fast }
`

let service: TestService

beforeAll(async () => {
  service = await startService()
})
afterAll(() => service[Symbol.asyncDispose]())

type Discovery = { auth: { command: string[]; env: string }; config: { provider?: { svc: { models: object } } } }

const discover = async (headers: Record<string, string> = {}) => {
  const response = await service.fetch(PATH, { headers })
  return (await response.json()) as Discovery
}

describe('getOpencodeDiscovery', () => {
  describe('200', () => {
    it('says how to get a credential, and no models, to anyone', async () => {
      const { auth, config } = await discover()
      expect(auth.command.slice(-2)).toEqual(['--url', BASE_URL])
      expect(config).toEqual({})
    })

    it('lists the models of the team to a caller with a credential', async () => {
      const { accessToken } = await service.signIn('ada@example.com')
      const { config } = await discover(bearerOf(accessToken))
      expect(Object.keys(config.provider?.svc.models ?? {})).toContain('svc/fast')
    })

    it('writes a name of a model so that opencode reads no file and no variable for it', async () => {
      await using named = await startService({ directory: REFERRING })
      const { accessToken } = await named.signIn('ada@example.com')
      const response = await named.fetch(PATH, { headers: bearerOf(accessToken) })
      const { config } = (await response.json()) as Discovery
      expect(config.provider?.svc.models).toMatchObject({
        'svc/fast': { name: 'Fast { file:/etc/passwd}{ env:HOME} {x}' },
      })
    })

    it('takes a credential that is not valid for none, so that opencode starts and can sign in again', async () => {
      expect((await discover({ authorization: 'Bearer old' })).config).toEqual({})
    })
  })

  describe('503', () => {
    it('answers 503 when the credential cannot be checked', async () => {
      await using alone = await startService()
      const { accessToken } = await alone.signIn('ada@example.com')
      await alone.database.close()
      const response = await alone.fetch(PATH, { headers: bearerOf(accessToken) })
      expect(await outcomeOf(response)).toBe('503 service_unavailable')
    })
  })
})

describe.each(TELEMETRY)('$operationId', ({ path }) => {
  describe('200', () => {
    it.each([
      ['JSON', 'application/json', '{"resourceMetrics":[]}'],
      ['no JSON at all', 'application/json', '{'],
      ['Protobuf', 'application/x-protobuf', '\u0000\u0001'],
      ['nothing', 'text/plain', ''],
    ])('accepts %s without a credential', async (_name, type, body) => {
      const response = await service.fetch(path, { method: 'POST', body, headers: { 'content-type': type } })
      expect([response.status, await response.json()]).toEqual([200, {}])
    })
  })
})

describe('the telemetry of a client', () => {
  it('is answered before its body has arrived', async () => {
    const headers = { 'content-type': 'application/x-protobuf', 'content-length': '1000000000' }
    const sending = request(`${service.origin}/v1/traces`, { method: 'POST', headers })
    sending.flushHeaders()
    const [answer] = (await once(sending, 'response')) as [IncomingMessage]
    expect(answer.statusCode).toBe(200)
    sending.destroy()
  })
})

describe('429 of the operations that take no credential', () => {
  it('comes when one network sends too many requests to all of them together', async () => {
    await using limited = await startService({ env: { SVC_LIMIT_REQUESTS_PER_MINUTE: '1' } })
    expect((await limited.fetch('/v1/metrics', { method: 'POST' })).status).toBe(200)
    for (const { path } of TELEMETRY) {
      expect(await outcomeOf(await limited.fetch(path, { method: 'POST' }))).toBe('429 rate_limited')
    }
    expect(await outcomeOf(await limited.fetch(PATH))).toBe('429 rate_limited')
  })
})
