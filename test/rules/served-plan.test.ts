import { describe, expect, it } from 'vitest'
import type { Dialect } from '../../src/gateway/dialects/dialect.ts'
import { chooseNext, isTriedElsewhere } from '../../src/gateway/plan/next-step.ts'
import type { TriedStep } from '../../src/gateway/plan/next-step.ts'
import type { Candidate } from '../../src/gateway/plan/candidate.ts'
import type { Affinity } from '../../src/gateway/plan/order.ts'
import { planCall } from '../../src/gateway/plan/plan.ts'
import type { PlannedCall, Step } from '../../src/gateway/plan/plan.ts'
import { servedModel, serveEntry } from '../support/served-models.ts'

const candidate = (backend: string, given: Partial<Candidate> = {}): Candidate => ({
  backend,
  model: 'large',
  caps: {},
  kind: 'vendor',
  dialects: ['chat'],
  isReady: true,
  isReachable: true,
  isTripped: false,
  isOfflineOnly: false,
  rank: 0,
  weight: 1,
  ...given,
})
/** Candidates in the order of preference. */
const ranked = (...given: readonly Candidate[]) => given.map((one, rank) => ({ ...one, rank }))
const chat = { dialect: 'chat', reach: 'any_dialect' } as const
const model = servedModel('v/large', { serve: [serveEntry('a', 'large')] })
const NO_SESSION: Affinity = { spreadBy: 'req_1', servedBy: null }

function stepsOf(given: readonly Candidate[], affinity = NO_SESSION, operation: PlannedCall['operation'] = chat) {
  const plan = planCall({ operation, model }, given, affinity)
  return typeof plan === 'string' ? plan : plan.map(({ backend, dialect }) => `${backend} in ${dialect}`)
}

const backendsOf = (given: readonly Candidate[], affinity = NO_SESSION) => {
  const plan = planCall({ operation: chat, model }, given, affinity)
  return typeof plan === 'string' ? plan : plan.map(({ backend }) => backend).join(' ')
}

describe('the plan of a model that names its backends', () => {
  const offline = candidate('local', { isOfflineOnly: true })

  it.each<[string, readonly Candidate[], string]>([
    ['has them in their order', ranked(candidate('b'), candidate('a')), 'b a'],
    ['has those that are not ready later', ranked(candidate('b', { isReady: false }), candidate('a')), 'a b'],
    [
      'has those whose breaker is open after those that are not ready',
      ranked(candidate('c', { isTripped: true }), candidate('b', { isReady: false }), candidate('a')),
      'a b c',
    ],
    [
      'has those that cannot be reached after those whose breaker is open',
      ranked(candidate('c', { isReachable: false }), candidate('b', { isTripped: true }), candidate('a')),
      'a b c',
    ],
    [
      'has those for the time without a network at the end',
      ranked(candidate('b', { isReachable: false }), offline, candidate('a')),
      'a b local',
    ],
    ['is empty where none is configured', [], 'model_unavailable'],
  ])('%s', (_name, given, expected) => {
    expect(backendsOf(given)).toBe(expected)
  })

  it.each<
    [string, { dialect: Dialect; reach: 'any_dialect' | 'own_dialect' | 'vendor_only' }, readonly Candidate[], unknown]
  >([
    [
      'keeps the order where one must be translated for',
      chat,
      ranked(candidate('b', { dialects: ['messages'] }), candidate('a')),
      ['b in messages', 'a in chat'],
    ],
    [
      'has the neighbour first that needs no translation, whatever the weights',
      { dialect: 'messages', reach: 'any_dialect' },
      [candidate('a', { weight: 1000 }), candidate('b', { dialects: ['messages'] })],
      ['b in messages', 'a in chat'],
    ],
    [
      'has the other neighbour first while that one is not ready',
      { dialect: 'messages', reach: 'any_dialect' },
      [candidate('a'), candidate('b', { dialects: ['messages'], isReady: false })],
      ['a in chat', 'b in messages'],
    ],
    [
      'leaves out those that cannot do the operation',
      { dialect: 'responses', reach: 'vendor_only' },
      ranked(candidate('b'), candidate('a', { dialects: ['chat', 'responses'] })),
      ['a in responses'],
    ],
    [
      'does not try an engine that may not know the operation',
      { dialect: 'messages', reach: 'own_dialect' },
      [candidate('local', { kind: 'engine' })],
      'not_supported',
    ],
  ])('%s', (_name, operation, given, expected) => {
    expect(stepsOf(given, NO_SESSION, operation)).toEqual(expected)
  })
})

describe('a session', () => {
  const neighbours = [candidate('a'), candidate('b'), candidate('c')]
  const firstOf = (spreadBy: string, given: readonly Candidate[]) =>
    backendsOf(given, { spreadBy, servedBy: null }).split(' ')[0] ?? ''
  const SESSIONS = Array.from({ length: 3000 }, (_, at) => `account-1\nrun-${at}`)

  it('has the same order of neighbours in each turn and in each process', () => {
    for (const session of SESSIONS.slice(0, 20)) {
      const orders = Array.from({ length: 5 }, () => backendsOf(neighbours, { spreadBy: session, servedBy: null }))
      expect(new Set(orders).size).toBe(1)
      const reversed = backendsOf(neighbours.toReversed(), { spreadBy: session, servedBy: null })
      expect(reversed).toBe(orders[0])
    }
  })

  it('is spread over neighbours by their weights', () => {
    const given = [candidate('a', { weight: 2 }), candidate('b'), candidate('c')]
    const firsts = SESSIONS.map((session) => firstOf(session, given))
    const shareOf = (backend: string) => firsts.filter((first) => first === backend).length / firsts.length
    expect(shareOf('a')).toBeCloseTo(0.5, 1)
    expect(shareOf('b')).toBeCloseTo(0.25, 1)
    expect(shareOf('c')).toBeCloseTo(0.25, 1)
  })

  it('moves only when its own backend fails', () => {
    const withoutC = [candidate('a'), candidate('b'), candidate('c', { isTripped: true })]
    for (const session of SESSIONS.slice(0, 200)) {
      const first = firstOf(session, neighbours)
      if (first !== 'c') expect(firstOf(session, withoutC)).toBe(first)
    }
  })

  it.each<[string, readonly Candidate[], string]>([
    ['stays with the backend that served it', ranked(candidate('a'), candidate('b')), 'b a'],
    ['leaves it while its breaker is open', ranked(candidate('a'), candidate('b', { isTripped: true })), 'a b'],
    ['leaves it while it cannot be reached', ranked(candidate('a'), candidate('b', { isReachable: false })), 'a b'],
    ['leaves it when it is no longer in the plan', ranked(candidate('a'), candidate('c')), 'a c'],
    [
      'does not stay with the one for the time without a network',
      ranked(candidate('a'), candidate('b', { isOfflineOnly: true })),
      'a b',
    ],
  ])('%s', (_name, given, expected) => {
    expect(backendsOf(given, { spreadBy: 'account-1\nrun-1', servedBy: 'b' })).toBe(expected)
  })
})

describe('the next step', () => {
  type Short = `${string}=${TriedStep['result']}`
  const step = (name: string): Step => ({
    backend: name.replace(/[?!]/, ''),
    model: 'large',
    caps: {},
    dialect: 'chat',
    // `local` is for the time without a network; `!` means that it is known to be unreachable.
    isOfflineOnly: name.startsWith('local'),
    isReachable: !name.endsWith('!'),
  })

  it.each<[string, string, readonly Short[], string | null]>([
    ['is the first', 'a b', [], 'a'],
    ['is the second after an error of the first', 'a b', ['a=answered'], 'b'],
    ['is the second when the first cannot be asked', 'a b', ['a=refused'], 'b'],
    ['does not exist after the last', 'a b', ['a=answered', 'b=answered'], null],
    ['does not exist after three attempts', 'a b c d', ['a=answered', 'b=answered', 'c=unreachable'], null],
    ['exists when one of three could not be asked', 'a b c d', ['a=answered', 'b=refused', 'c=answered'], 'd'],
    ['is not the local one after an error', 'a local', ['a=answered'], null],
    ['is not the local one when the first cannot be asked', 'a local', ['a=refused'], null],
    ['is the local one when the first cannot be reached', 'a local', ['a=unreachable'], 'local'],
    [
      'is the local one when one cannot be asked and the other cannot be reached',
      'a b local',
      ['a=refused', 'b=unreachable'],
      'local',
    ],
    [
      'is the local one at the last chance, which those that cannot be asked do not use up',
      'a b c d local',
      ['a=refused', 'b=unreachable', 'c=unreachable'],
      'local',
    ],
    ['is the second before the local one', 'a b local', ['a=unreachable'], 'b'],
    ['is the local one when the second is known to be unreachable', 'a b! local', ['a=unreachable'], 'local'],
    ['is the local one at once when all others are known to be unreachable', 'a! b! local', [], 'local'],
    ['is one of the others when the local one has failed too', 'a! local', ['local=answered'], 'a'],
    ['is the local one at the last chance', 'a b c local', ['a=unreachable', 'b=unreachable'], 'local'],
    [
      'is not the local one at the last chance when one was reached',
      'a b c local',
      ['a=unreachable', 'b=answered'],
      'c',
    ],
    ['is one that is known to be unreachable when there is no other', 'a!', [], 'a'],
  ])('%s', (_name, names, results, expected) => {
    const steps = names.split(' ').map(step)
    const tried = results.map((text): TriedStep => {
      const [backend, result] = text.split('=')
      const found = steps.find((one) => one.backend === backend)
      if (!found) throw new Error(`There is no step ${text}.`)
      return { step: found, result: result as TriedStep['result'] }
    })
    expect(chooseNext(steps, tried)?.backend ?? null).toBe(expected)
  })

  it.each([401, 402, 403, 404, 407, 408, 429, 500, 502, 503, 504, 520, 522, 524, 529, 530])(
    'is tried after %i',
    (status) => {
      expect(isTriedElsewhere(status)).toBe(true)
    },
  )

  it.each([200, 304, 400, 405, 409, 413, 422, 501, 505])('is not tried after %i', (status) => {
    expect(isTriedElsewhere(status)).toBe(false)
  })
})
