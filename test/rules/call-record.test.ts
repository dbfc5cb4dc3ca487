import { expect, it } from 'vitest'
import type { Admission } from '../../src/gateway/calls/admit.ts'
import { OPERATIONS } from '../../src/gateway/calls/operations.ts'
import { recordEnd } from '../../src/gateway/calls/record.ts'
import { FREE_USAGE, NO_USAGE } from '../../src/gateway/dialects/usage.ts'
import { openPrices } from '../../src/gateway/prices/cost.ts'
import type { Attempt, CallEvent } from '../../src/gateway/usage/events.ts'
import { endedCall } from '../support/call-events.ts'
import { servedModel } from '../support/gateway.ts'

const at = (second: number) => new Date(Date.UTC(2026, 10, 21, 10, 0, second))
const outcome = {
  kind: 'whole',
  answered: false,
  status: 529,
  firstByteMs: 5,
  bytes: 1,
  reason: null,
  refusal: null,
  kept: null,
} as const

const attempt = (backend: string, given: Partial<Attempt> = {}): Attempt => ({
  backend,
  backendKind: 'vendor',
  model: 'large-2026',
  sentAt: at(0),
  outcome,
  usage: NO_USAGE,
  unreportedBytes: 1,
  refusal: null,
  ...given,
})

/** The events of a call that was sent to these backends. */
function eventsOf(attempts: readonly Attempt[], operation: keyof typeof OPERATIONS = 'createMessage'): CallEvent[] {
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
    size: { bytes: 400, maxOutputTokens: 10 },
    timeZone: 'Europe/Berlin',
    slot: null,
    hold: null,
  }
  const events: CallEvent[] = []
  const ignore = () => undefined
  const log = { debug: ignore, info: ignore, warn: ignore, error: ignore }
  const recordEvent = (event: CallEvent) => void events.push(event)
  const needs = { recordEvent, costOf: openPrices().costOf, clock: { now: () => at(9) }, log }
  recordEnd(needs, admission, attempts, attempts.at(-1) ?? null)
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

it('an earlier attempt without tokens has no event', () => {
  expect(eventsOf([attempt('vendorb'), SERVED]).map(({ kind }) => kind)).toEqual(['finished'])
  const free = attempt('vendorb', { usage: FREE_USAGE })
  expect(eventsOf([free, SERVED], 'countMessageTokens').map(({ kind }) => kind)).toEqual(['finished'])
})

it('limits count what a caller has read behind the last report of an answer that it left', () => {
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
