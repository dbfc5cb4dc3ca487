import { expect, it } from 'vitest'
import type { Admission } from '../../src/gateway/calls/admit.ts'
import type { Attempt } from '../../src/gateway/calls/attempt.ts'
import { OPERATIONS } from '../../src/gateway/calls/operations.ts'
import { recordEnd } from '../../src/gateway/calls/record.ts'
import { FREE_USAGE, NO_USAGE } from '../../src/gateway/dialects/tokens/usage.ts'
import { openPrices } from '../../src/gateway/prices/cost.ts'
import type { Outcome } from '../../src/gateway/exchange/outcome.ts'
import type { CallEvent } from '../../src/gateway/usage/events.ts'
import { endedCall } from '../support/call-events.ts'
import { UNREACHABLE } from '../support/outcomes.ts'
import { servedModel } from '../support/served-models.ts'

const at = (second: number) => new Date(Date.UTC(2026, 10, 21, 10, 0, second))
const outcome: Outcome = { ...UNREACHABLE, kind: 'whole', isSent: true, status: 529, reason: null }

const attempt = (backend: string, given: Partial<Attempt> = {}): Attempt => ({
  backend,
  backendKind: 'vendor',
  model: 'large-2026',
  serviceTier: 'standard',
  sentAt: at(0),
  outcome,
  usage: NO_USAGE,
  metadata: null,
  unreportedBytes: 1,
  ...given,
})

/** The events of a call that was sent to these backends. */
function eventsOf(
  attempts: readonly Attempt[],
  operation: keyof typeof OPERATIONS = 'createMessage',
  { by = attempts.at(-1) ?? null, endedAt = at(9) }: { readonly by?: Attempt | null; readonly endedAt?: Date } = {},
): CallEvent[] {
  const { call } = endedCall()
  const price = { input: 1, output: 10 }
  const admission: Admission = {
    operation: OPERATIONS[operation],
    requestId: 'req_1',
    caller: call.caller,
    sessionId: null,
    model: servedModel('vendorb/writer', { price }),
    calledAs: 'vendorb/writer',
    wantsStream: false,
    size: { bytes: 400, maxOutputTokens: 10, answers: 1, serviceTier: 'standard' },
    timeZone: 'Europe/Berlin',
    slot: null,
    reservation: null,
  }
  const events: CallEvent[] = []
  const ignore = () => undefined
  const log = { debug: ignore, info: ignore, warn: ignore, error: ignore }
  const recordEvent = (event: CallEvent) => void events.push(event)
  const needs = { recordEvent, costOf: openPrices().costOf, clock: { now: () => endedAt }, log }
  recordEnd(needs, { admission, req: {} }, attempts, by)
  return events
}

const COUNTED = { ...NO_USAGE, inputTokens: 100, outputTokens: 1 }
const SERVED = attempt('vendorb-eu', { sentAt: at(2), outcome: { ...outcome, status: 200 }, usage: COUNTED })

it('an earlier attempt has an event of its own when its backend counted tokens', () => {
  const counted = attempt('vendorb', { usage: COUNTED })
  expect(eventsOf([counted, attempt('vendorb-us', { sentAt: at(1) }), SERVED])).toMatchObject([
    {
      kind: 'retried',
      at: at(1),
      call: { servedBy: 'vendorb' },
      result: { attempts: [{ backend: 'vendorb', result: '529' }], durationMs: 1000, costNanoUsd: 110_000 },
    },
    {
      kind: 'finished',
      at: at(9),
      call: { servedBy: 'vendorb-eu' },
      result: { attempts: [{}, {}, { result: '200' }], durationMs: 9000, costNanoUsd: 110_000 },
    },
  ])
})

it('a call takes no negative time where the clock was set back while it ran', () => {
  expect(eventsOf([attempt('vendorb', { sentAt: at(9) })], 'createMessage', { endedAt: at(0) })).toMatchObject([
    { at: at(0), result: { durationMs: 0 } },
  ])
})

it('an earlier attempt without tokens has no event', () => {
  expect(eventsOf([attempt('vendorb'), SERVED]).map(({ kind }) => kind)).toEqual(['finished'])
  const free = attempt('vendorb', { usage: FREE_USAGE })
  expect(eventsOf([free, SERVED], 'countMessageTokens').map(({ kind }) => kind)).toEqual(['finished'])
})

it('a backend that may have counted tokens has an event, also where the caller gets the error of another one', () => {
  const refused = attempt('vendorb')
  const brokenOff = attempt('vendorb-eu', { sentAt: at(1), outcome: { ...outcome, kind: 'failed', status: 200 } })
  expect(eventsOf([refused, brokenOff], 'createMessage', { by: refused })).toMatchObject([
    { kind: 'retried', call: { servedBy: 'vendorb-eu' }, result: { usage: NO_USAGE, costNanoUsd: null } },
    { kind: 'failed', call: { servedBy: 'vendorb' }, result: { spent: { nanoUsd: 0 } } },
  ])
})

it.each<[string, Partial<Attempt>, number]>([
  ['its cost', SERVED, 110_000],
  // 400 bytes of the request are 100 tokens, and 8 of the answer 2.
  [
    'an estimate where its backend reported no tokens',
    { outcome: { ...outcome, kind: 'left', status: 200 }, unreportedBytes: 8 },
    120_000,
  ],
  [
    'an estimate where its backend did not answer',
    { outcome: { ...outcome, kind: 'timeout', status: null }, unreportedBytes: 0 },
    100_000,
  ],
  ['nothing where its backend refused it', {}, 0],
  [
    'nothing where its backend was not reached',
    { outcome: { ...outcome, kind: 'unreachable', isSent: false, status: null } },
    0,
  ],
  [
    'nothing where its caller left before it was sent',
    { outcome: { ...outcome, kind: 'left', isSent: false, status: null } },
    0,
  ],
])('spending limits count of a call %s, on the day of its team', (_, given, nanoUsd) => {
  // In Berlin, the next day has begun.
  const endedAt = new Date('2026-11-21T23:30:00Z')
  const [event] = eventsOf([attempt('vendorb', given)], 'createMessage', { endedAt })
  expect(event?.result?.spent).toEqual({ day: '2026-11-22', nanoUsd })
})

it('limits count an estimate of what a caller has read since the last report of usage, when it leaves', () => {
  const left = { ...outcome, kind: 'left', answered: true, status: 200 } as const
  const spentOf = (given: Partial<Attempt>, operation?: keyof typeof OPERATIONS) =>
    eventsOf([attempt('vendorb', { outcome: left, ...given })], operation)[0]?.result?.spent.nanoUsd
  // A messages stream reports one token of output at its start; the request allows 10 tokens.
  expect(spentOf({ usage: COUNTED, unreportedBytes: 4000 })).toBe(100_000 + 11 * 10_000)
  expect(spentOf({ usage: COUNTED, unreportedBytes: 0 })).toBe(110_000)
  expect(spentOf({ unreportedBytes: 20 })).toBe(100_000 + 5 * 10_000)
  expect(spentOf({ usage: FREE_USAGE, unreportedBytes: 0 }, 'countMessageTokens')).toBe(0)
  expect(eventsOf([SERVED])[0]?.result?.spent.nanoUsd).toBe(110_000)
})
