import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { unwrap } from '../../src/sdk/index.ts'
import { startEngine } from '../support/engine.ts'
import type { TestEngine } from '../support/engine.ts'
import { freePort } from '../support/loopback.ts'
import { bearerOf, json, outcomeOf } from '../support/requests.ts'
import { answersJson, startUpstream } from '../support/upstream.ts'
import type { TestUpstream } from '../support/upstream.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const DIRECTORY = (port: number, lost: TestUpstream) => `
organizations:
  - name: acme
    teams:
      - name: core
        models: [vendorb/writer, vendorb/lost]
        members: [{ email: ada@example.com, role: admin }, { email: grace@example.com }]
backends:
  - { name: eu, dialects: [chat], url: 'http://user-of-eu.localhost:${port}/secret-path', credential: { env: EU_TOKEN } }
  - { name: us, dialects: [messages], url: '${lost.url.origin}', basePath: /wrong }
models:
  - { id: vendorb/lost, displayName: Lost, owner: vendorb, serve: [{ backend: us, model: lost }] }
  - id: vendorb/writer
    displayName: Writer
    owner: vendorb
    serve: [{ backend: eu, model: writer }]
`
const NOT_FOUND = { type: 'error', error: { type: 'not_found_error', message: 'Not Found' } }
const works = { state: 'ready', breaker: 'closed', lastError: null }

let engine: TestEngine
let lost: TestUpstream
let service: TestService
let admin: string
let member: string

beforeAll(async () => {
  engine = await startEngine(['qwen3:8b'])
  lost = await startUpstream(answersJson(NOT_FOUND, { status: 404 }))
  service = await startService({
    directory: DIRECTORY(await freePort(), lost),
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
  await lost[Symbol.asyncDispose]()
})

const ask = (token: string) => service.fetch('/v1/backends', { headers: bearerOf(token) })

describe('listBackends', () => {
  describe('200', () => {
    it('shows an admin each backend with its state and its last error, and no address or credential', async () => {
      const call = { model: 'vendorb/writer', messages: [{ role: 'user', content: 'hi' }] }
      await (await service.fetch('/v1/chat/completions', json(call, bearerOf(admin)))).text()
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
          { name: 'us', kind: 'vendor', dialects: ['messages'], ...works },
          { name: 'vendorb', kind: 'vendor', dialects: ['messages'], ...works },
        ],
      })
      expect(text).not.toMatch(/secret|localhost|127\.0\.0\.1/)
    })

    it('shows a 404 to a call that every backend knows, and none to others', async () => {
      const call = { model: 'vendorb/lost', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] }
      const lastErrorAfter = async (path: string) => {
        // The error is the backend's own, which is not in the contract.
        await (await fetch(service.origin + path, json(call, bearerOf(admin)))).text()
        const { backends } = await unwrap(service.clientOf(admin).GET('/v1/backends'))
        return backends.find(({ name }) => name === 'us')?.lastError?.result
      }
      expect(await lastErrorAfter('/v1/messages/count_tokens')).toBeUndefined()
      expect(await lastErrorAfter('/v1/messages')).toBe('404')
      expect(lost.calls).toHaveLength(2)
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
