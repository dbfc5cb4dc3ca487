import { describe, expect, it } from 'vitest'
import { listPlacements, planCall, planServed } from '../../src/gateway/plan/plan.ts'
import type { Candidate, ModelNames, Plan, Reach } from '../../src/gateway/plan/plan.ts'
import type { Dialect } from '../../src/gateway/dialects/dialect.ts'

const LOCAL = { id: 'svc/fast', backendModel: 'qwen3:8b', upstreamModel: null }
const BOTH = { id: 'svc/both', backendModel: 'qwen3:8b', upstreamModel: 'large-2026' }
const NAMED = { id: 'vendora/named', backendModel: null, upstreamModel: 'large-2026' }
const PLAIN = { id: 'vendora/large', backendModel: null, upstreamModel: null }

type Known = Omit<Candidate, 'model' | 'isOfflineOnly'>
const READY: Known = { backend: 'local-engine', kind: 'engine', dialects: ['chat'], isReady: true }
const NOT_READY: Known = { ...READY, isReady: false }
const UPSTREAM: Known = { backend: 'vendora', kind: 'vendor', dialects: ['chat', 'responses'], isReady: true }

type Given = {
  readonly model: ModelNames
  readonly operation: { readonly dialect: Dialect; readonly reach: Reach }
  readonly worker: Known | null
  readonly upstream: Known | null
}

function plan({ model, operation, worker, upstream }: Given): Plan {
  const known = [worker, upstream].filter((backend) => backend !== null)
  const configured = { worker: worker?.backend ?? null, upstream: upstream?.backend ?? null }
  const candidates = listPlacements(model, configured).flatMap((placement) =>
    known.filter(({ backend }) => backend === placement.backend).map((backend) => ({ ...backend, ...placement })),
  )
  return planCall(operation, candidates)
}

const toWorker: Plan = [{ backend: 'local-engine', model: 'qwen3:8b', isOfflineOnly: false, dialect: 'chat' }]
const toUpstream = (model: string): Plan => [{ backend: 'vendora', model, isOfflineOnly: false, dialect: 'chat' }]

describe('the backend of a call', () => {
  it.each<[string, ModelNames, Known | null, Known | null, Plan]>([
    ['is the worker for a model of the worker', LOCAL, READY, null, toWorker],
    ['is the worker for a model of the worker, although there is an upstream', LOCAL, READY, UPSTREAM, toWorker],
    ['is the worker for a model with both names', BOTH, READY, UPSTREAM, toWorker],
    [
      'is the upstream for a model with both names while the worker is not ready',
      BOTH,
      NOT_READY,
      UPSTREAM,
      toUpstream('large-2026'),
    ],
    [
      'is the upstream for a model with both names when no worker is configured',
      BOTH,
      null,
      UPSTREAM,
      toUpstream('large-2026'),
    ],
    ['is a worker that is not ready when there is no upstream', BOTH, NOT_READY, null, toWorker],
    [
      'is a worker that is not ready when the upstream does not know the model by name',
      LOCAL,
      NOT_READY,
      UPSTREAM,
      toWorker,
    ],
    [
      'is the upstream for a model of the worker when no worker is configured',
      LOCAL,
      null,
      UPSTREAM,
      toUpstream('svc/fast'),
    ],
    ['does not exist for a model of the worker without worker and upstream', LOCAL, null, null, 'model_unavailable'],
    ['is the upstream for a model of the upstream', NAMED, READY, UPSTREAM, toUpstream('large-2026')],
    [
      'is the upstream for a model without other names, under its id',
      PLAIN,
      null,
      UPSTREAM,
      toUpstream('vendora/large'),
    ],
    ['is never the worker for a model of the upstream', NAMED, READY, null, 'model_unavailable'],
  ])('%s', (_name, model, worker, upstream, expected) => {
    expect(plan({ model, operation: { dialect: 'chat', reach: 'any_dialect' }, worker, upstream })).toEqual(expected)
  })
})

describe('the dialect of a step', () => {
  const NATIVE: Known = { ...READY, dialects: ['messages', 'chat'] }
  const MESSAGES_ONLY: Known = { ...UPSTREAM, dialects: ['messages'] }

  it.each<[string, Dialect, Reach, Known, Dialect | 'not_supported']>([
    ['is the operation’s where the engine speaks it', 'messages', 'any_dialect', NATIVE, 'messages'],
    ['is chat where the engine speaks nothing else', 'messages', 'any_dialect', READY, 'chat'],
    ['is chat for responses too', 'responses', 'any_dialect', READY, 'chat'],
    [
      'does not exist where no translation does',
      'messages',
      'any_dialect',
      { ...READY, dialects: [] },
      'not_supported',
    ],
    ['is the operation’s where an engine may know the operation', 'messages', 'own_dialect', READY, 'messages'],
    ['does not exist where only a vendor can serve the operation', 'responses', 'vendor_only', READY, 'not_supported'],
  ])('%s', (_name, dialect, reach, worker, expected) => {
    const made = plan({ model: LOCAL, operation: { dialect, reach }, worker, upstream: null })
    expect(typeof made === 'string' ? made : made[0]?.dialect).toBe(expected)
  })

  it.each<[string, Dialect, Reach, Dialect | 'not_supported']>([
    ['is the operation’s at a vendor that speaks it', 'messages', 'any_dialect', 'messages'],
    ['does not exist at a vendor that does not know the operation', 'chat', 'own_dialect', 'not_supported'],
  ])('%s', (_name, dialect, reach, expected) => {
    const made = plan({ model: PLAIN, operation: { dialect, reach }, worker: null, upstream: MESSAGES_ONLY })
    expect(typeof made === 'string' ? made : made[0]?.dialect).toBe(expected)
  })
})

describe('an operation that only a vendor can serve', () => {
  const operation = { dialect: 'responses', reach: 'vendor_only' } as const

  it('goes to the upstream that knows the model by name, although the worker is ready', () => {
    expect(plan({ model: BOTH, operation, worker: READY, upstream: UPSTREAM })).toEqual([
      { backend: 'vendora', model: 'large-2026', isOfflineOnly: false, dialect: 'responses' },
    ])
  })

  it.each([
    ['without a name there', LOCAL, UPSTREAM],
    ['without an upstream', BOTH, null],
  ])('is not supported %s', (_name, model, upstream) => {
    expect(plan({ model, operation, worker: READY, upstream })).toBe('not_supported')
  })
})

describe('the plan of a model that names its backends', () => {
  const candidate = (backend: string, given: Partial<Candidate> = {}): Candidate => ({
    backend,
    model: 'large',
    kind: 'vendor',
    dialects: ['chat'],
    isReady: true,
    isOfflineOnly: false,
    ...given,
  })
  const chat = { dialect: 'chat', reach: 'any_dialect' } as const
  const steps = (plan: Plan) =>
    typeof plan === 'string' ? plan : plan.map(({ backend, dialect }) => `${backend} in ${dialect}`)

  it.each<[string, Parameters<typeof planServed>[0], Candidate[], string[] | string]>([
    ['has them in their order', chat, [candidate('b'), candidate('a')], ['b in chat', 'a in chat']],
    [
      'keeps the order where one must be translated for',
      chat,
      [candidate('b', { dialects: ['messages'] }), candidate('a')],
      ['b in messages', 'a in chat'],
    ],
    [
      'has those that are not ready behind the others',
      chat,
      [candidate('b', { isReady: false }), candidate('a')],
      ['a in chat', 'b in chat'],
    ],
    [
      'has those for the time without a network at the end',
      chat,
      [candidate('b', { isReady: false }), candidate('local', { isOfflineOnly: true }), candidate('a')],
      ['a in chat', 'b in chat', 'local in chat'],
    ],
    [
      'leaves out those that cannot do the operation',
      { dialect: 'responses', reach: 'vendor_only' },
      [candidate('b'), candidate('a', { dialects: ['chat', 'responses'] })],
      ['a in responses'],
    ],
    [
      'does not try an engine that may not know the operation',
      { dialect: 'messages', reach: 'own_dialect' },
      [candidate('local', { kind: 'engine' })],
      'not_supported',
    ],
    ['is empty where none is configured', chat, [], 'model_unavailable'],
  ])('%s', (_name, operation, candidates, expected) => {
    expect(steps(planServed(operation, candidates))).toEqual(expected)
  })
})
