import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startEngine } from '../support/engine.ts'
import type { TestEngine } from '../support/engine.ts'
import { directoryOf } from '../support/people.ts'
import { bearerOf, outcomeOf } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const WORKER = {
  id: 'local-engine',
  mode: 'airplane',
  kind: 'local',
  protocol: 'vendora-compatible',
  state: 'ready',
  models: [{ id: 'svc/fast', backendModel: 'qwen3:8b', state: 'ready' }],
  capabilities: ['chat', 'code', 'streaming', 'tools'],
}

/** The list of workers, and the only worker in it. */
const OPERATIONS = [
  { operationId: 'listWorkers', path: '/v1/workers', shown: (worker: object): object => ({ workers: [worker] }) },
  { operationId: 'getWorker', path: '/v1/workers/local-engine', shown: (worker: object): object => worker },
] as const

let engine: TestEngine
let service: TestService
let token: string
let otherTeamsToken: string

beforeAll(async () => {
  engine = await startEngine(['qwen3:8b'])
  service = await startService({
    directory: directoryOf(['ada@example.com']),
    env: { SVC_LOCAL_ENGINE_URL: engine.url.href },
  })
  token = (await service.signIn('ada@example.com')).accessToken
  otherTeamsToken = (await service.signIn('stranger@example.com')).accessToken
})

afterAll(async () => {
  await service[Symbol.asyncDispose]()
  await engine[Symbol.asyncDispose]()
})

const ask = (path: string, credential = token) => service.fetch(path, { headers: bearerOf(credential) })

describe.each(OPERATIONS)('$operationId', ({ path, shown }) => {
  describe('200', () => {
    it('returns the worker with its current state', async () => {
      service.clock.advance({ seconds: 2 })
      expect(await ask(path).then((response) => response.json())).toEqual(shown(WORKER))

      engine.models = []
      service.clock.advance({ seconds: 2 })
      const missing = { ...WORKER, state: 'model_missing', models: [{ ...WORKER.models[0], state: 'model_missing' }] }
      expect(await ask(path).then((response) => response.json())).toEqual(shown(missing))
      engine.models = ['qwen3:8b']
    })

    it("lists only the models of the caller's team", async () => {
      service.clock.advance({ seconds: 2 })
      const response = await ask(path, otherTeamsToken)
      expect(await response.json()).toEqual(shown({ ...WORKER, models: [] }))
    })
  })

  describe('401', () => {
    it('refuses an invalid token', async () => {
      expect(await outcomeOf(await ask(path, 'wrong'))).toBe('401 unauthorized')
    })
  })

  describe('503', () => {
    it('answers 503 and not 401 when the database cannot be reached', async () => {
      await using alone = await startService({ directory: directoryOf(['ada@example.com']) })
      const { accessToken } = await alone.signIn('ada@example.com')
      await alone.database.close()
      const response = await alone.fetch(path, { headers: bearerOf(accessToken) })
      expect(await outcomeOf(response)).toBe('503 service_unavailable')
    })
  })
})

describe('getWorker', () => {
  describe('404', () => {
    it.each(['other', 'LOCAL-ENGINE', '%00', '..%2Flocal-engine'])('refuses the unknown worker "%s"', async (id) => {
      expect(await outcomeOf(await ask(`/v1/workers/${id}`))).toBe('404 not_found')
    })
  })
})
