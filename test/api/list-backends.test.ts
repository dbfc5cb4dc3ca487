import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startEngine } from '../support/engine.ts'
import type { TestEngine } from '../support/engine.ts'
import { freePort } from '../support/loopback.ts'
import { json, outcomeOf } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const DIRECTORY = (port: number) => `
organizations:
  - name: acme
    teams:
      - name: core
        models: [vendorb/writer]
        members: [{ email: ada@example.com, role: admin }, { email: grace@example.com }]
backends:
  - { name: eu, dialects: [chat], url: 'http://user-of-eu.localhost:${port}/secret-path', credential: { env: EU_TOKEN } }
models:
  - id: vendorb/writer
    displayName: Writer
    owner: vendorb
    serve: [{ backend: eu, model: writer }]
`
const works = { state: 'ready', breaker: 'closed', lastError: null }

let engine: TestEngine
let service: TestService
let admin: string
let member: string

beforeAll(async () => {
  engine = await startEngine(['qwen3:8b'])
  service = await startService({
    directory: DIRECTORY(await freePort()),
    env: {
      SVC_LOCAL_ENGINE_URL: engine.url.href,
      SVC_VENDORB_UPSTREAM_URL: 'http://127.0.0.1:9',
      EU_TOKEN: 'secret-of-eu',
    },
  })
  admin = (await service.signIn('ada@example.com')).accessToken
  member = (await service.signIn('grace@example.com')).accessToken
})
afterAll(async () => {
  await service[Symbol.asyncDispose]()
  await engine[Symbol.asyncDispose]()
})

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const ask = (token: string) => service.fetch('/v1/backends', { headers: bearer(token) })

describe('listBackends', () => {
  describe('200', () => {
    it('shows an admin each backend with its state and its last error, and no address or credential', async () => {
      const call = { model: 'vendorb/writer', messages: [{ role: 'user', content: 'hi' }] }
      await (await service.fetch('/v1/chat/completions', json(call, bearer(admin)))).text()
      const response = await ask(admin)
      const text = await response.text()
      expect(JSON.parse(text)).toEqual({
        backends: [
          {
            name: 'eu',
            kind: 'vendor',
            dialects: ['chat'],
            state: 'unavailable',
            breaker: 'closed',
            lastError: { at: expect.any(String) as string, result: 'unreachable' },
          },
          { name: 'local-engine', kind: 'engine', dialects: ['chat'], ...works },
          { name: 'vendorb', kind: 'vendor', dialects: ['messages'], ...works },
        ],
      })
      expect(text).not.toMatch(/secret|localhost|127\.0\.0\.1/)
    })
  })

  describe('401', () => {
    it('refuses an invalid token', async () => {
      expect(await outcomeOf(await ask('wrong'))).toBe('401 unauthorized')
    })
  })

  describe('403', () => {
    it('refuses members', async () => {
      expect(await outcomeOf(await ask(member))).toBe('403 forbidden')
    })
  })

  describe('503', () => {
    it('answers 503 and not 401 when the database cannot be reached', async () => {
      // The gateway still knows the callers that it has seen.
      const { accessToken } = await service.signIn('ada@example.com')
      await service.database.close()
      expect(await outcomeOf(await ask(accessToken))).toBe('503 service_unavailable')
    })
  })
})
