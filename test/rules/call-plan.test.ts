import { describe, expect, it } from 'vitest'
import type { PlacedModel } from '../../src/directory/serve-entries.ts'
import { listPlacements } from '../../src/gateway/plan/candidate.ts'
import type { Candidate } from '../../src/gateway/plan/candidate.ts'
import { planCall } from '../../src/gateway/plan/plan.ts'
import type { Plan, Reach } from '../../src/gateway/plan/plan.ts'
import type { Dialect } from '../../src/gateway/dialects/dialect.ts'

const LOCAL = { id: 'svc/fast', backendModel: 'qwen3:8b', upstreamModel: null, caps: {}, serve: [] }
const BOTH = { id: 'svc/both', backendModel: 'qwen3:8b', upstreamModel: 'large-2026', caps: {}, serve: [] }
const NAMED = { id: 'vendora/named', backendModel: null, upstreamModel: 'large-2026', caps: {}, serve: [] }
const PLAIN = { id: 'vendora/large', backendModel: null, upstreamModel: null, caps: {}, serve: [] }

type Known = Omit<Candidate, 'model' | 'caps' | 'isOfflineOnly' | 'rank' | 'weight'>
const WORKS = { isReady: true, isReachable: true, isTripped: false }
const READY: Known = { backend: 'local-engine', kind: 'engine', dialects: ['chat'], ...WORKS }
const NOT_READY: Known = { ...READY, isReady: false }
const UPSTREAM: Known = { backend: 'vendora', kind: 'vendor', dialects: ['chat', 'responses'], ...WORKS }

type Given = {
  readonly model: PlacedModel
  readonly operation: { readonly dialect: Dialect; readonly reach: Reach }
  readonly worker: Known | null
  readonly upstream: Known | null
}

function plan({ model, operation, worker, upstream }: Given): Plan {
  const known = [worker, upstream].filter((backend) => backend !== null)
  const route = { hasWorker: worker !== null, upstream: 'vendora' } as const
  const candidates = listPlacements(model, route).flatMap((placement) =>
    known.filter(({ backend }) => backend === placement.backend).map((backend) => ({ ...backend, ...placement })),
  )
  return planCall({ operation, model }, candidates, { spreadBy: 'req_1', servedBy: null })
}

const step = (backend: string, model: string, dialect: Dialect = 'chat') => [
  { backend, model, caps: {}, dialect, isOfflineOnly: false, isReachable: true },
]
const toWorker: Plan = step('local-engine', 'qwen3:8b')
const toUpstream = (model: string): Plan => step('vendora', model)

describe('the backend of a call', () => {
  it.each<[string, PlacedModel, Known | null, Known | null, Plan]>([
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
    expect(plan({ model: BOTH, operation, worker: READY, upstream: UPSTREAM })).toEqual(
      step('vendora', 'large-2026', 'responses'),
    )
  })

  it.each([
    ['without a name there', LOCAL, UPSTREAM],
    ['without an upstream', BOTH, null],
  ])('is not supported %s', (_name, model, upstream) => {
    expect(plan({ model, operation, worker: READY, upstream })).toBe('not_supported')
  })
})
