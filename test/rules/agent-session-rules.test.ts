import { describe, expect, it } from 'vitest'
import {
  choosePosition,
  readSessionCursor,
  toSessionEvent,
  writeSessionCursor,
} from '../../src/control/agent-sessions/rules.ts'
import type { StoredEvent } from '../../src/control/agent-sessions/rules.ts'
import { sumBySession } from '../../src/gateway/usage/session-sums.ts'
import { readNotice, sessionKeyOf, writeNotice } from '../../src/kernel/agent-session.ts'
import { eventOf } from '../support/agent-sessions.ts'

const run = { team: '@acme/core', accountId: 'account-1', sessionId: 'run-1' }

describe('the position of a follower', () => {
  it.each([
    [undefined, undefined, 0n],
    ['7', undefined, 7n],
    [undefined, '9', 9n],
    ['7', '9', 9n],
    ['10', '9', 10n],
    ['999999999999999999', '1', 999_999_999_999_999_999n],
  ])('of after %s and Last-Event-ID %s is %s', (after, lastEventId, expected) => {
    expect(choosePosition(after, lastEventId)).toBe(expected)
  })
})

describe('the place in the list of sessions', () => {
  const place = {
    lastActiveAt: new Date('2026-11-21T09:00:00Z'),
    accountId: '01939c1e-6a5b-7c3d-8e4f-0a1b2c3d4e5f',
    sessionId: 'run"\\/1',
  }

  it('is read as it was written', () => {
    expect(readSessionCursor(writeSessionCursor(place))).toEqual(place)
  })

  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

  it.each([
    ['no JSON', 'bm90aGluZw'],
    ['no list', encode({})],
    ['no time', encode(['now', place.accountId, 'run'])],
    ['a time beyond the year 9999', encode([8.64e15, place.accountId, 'run'])],
    ['a time before 1970', encode([-1e15, place.accountId, 'run'])],
    ['no UUID', encode([0, 'account', 'run'])],
    ['no session id', encode([0, place.accountId])],
    ['a session id with NUL', encode([0, place.accountId, 'a\0'])],
  ])('is refused with %s', (_, text) => {
    expect(readSessionCursor(text)).toBeNull()
  })
})

describe('a stored event', () => {
  const ended: StoredEvent = {
    ...{ id: 41n, kind: 'failed', at: new Date(0), requestId: 'req_1', dialect: 'chat', model: 'svc/fast' },
    ...{ servedBy: 'vendora', outcome: 'unreachable', status: null, firstByteMs: null, durationMs: 9 },
    ...{ inputTokens: null, cachedTokens: null, outputTokens: 0, reasoningTokens: null, attempts: null },
    costNanoUsd: null,
  }

  it('is shown without the fields that are not known, and with zeros', () => {
    const shown = toSessionEvent(ended)
    expect(shown).toMatchObject({ type: 'call.failed', outcome: 'unreachable', durationMs: 9, tokens: { output: 0 } })
    expect(Object.keys(shown)).not.toContain('status')
    expect(Object.keys(shown)).not.toContain('costNanoUsd')
    expect(toSessionEvent({ ...ended, costNanoUsd: 0 })).toMatchObject({ costNanoUsd: 0 })
    expect(Object.keys(shown.tokens ?? {})).toEqual(['output'])
  })

  it('is shown without an end while the call runs', () => {
    expect(Object.keys(toSessionEvent({ ...ended, kind: 'started' })).toSorted()).toEqual(
      ['at', 'dialect', 'id', 'model', 'requestId', 'servedBy', 'type'].toSorted(),
    )
  })
})

describe('the sums of a batch', () => {
  it('add up calls, failures and the tokens of every backend for each session, and take time and model of the last event', () => {
    const other = { ...run, accountId: 'account-2' }
    const sums = sumBySession([
      eventOf('started', run, { at: new Date('2026-11-21T09:00:59Z'), model: 'a' }),
      eventOf('retried', other),
      eventOf('failed', other),
      eventOf('finished', run, { at: new Date('2026-11-21T09:01:59Z'), model: 'b' }),
    ])
    expect(sums).toEqual([
      {
        ...{ ...run, key: sessionKeyOf(run), serviceAccount: null, model: 'b' },
        ...{ startedAt: new Date('2026-11-21T09:00:59Z'), lastActiveAt: new Date('2026-11-21T09:01:00Z') },
        ...{ calls: 1, failedCalls: 0, inputTokens: 100, outputTokens: 20 },
      },
      expect.objectContaining({ accountId: 'account-2', calls: 1, failedCalls: 1, inputTokens: 200 }),
    ])
  })

  it('leave out calls without a session', () => {
    const event = eventOf('finished', run)
    expect(sumBySession([{ ...event, call: { ...event.call, sessionId: null } }])).toEqual([])
  })
})

describe('a notice of new events', () => {
  it('names the sessions of a full batch within the longest payload of a notification', () => {
    const keys = Array.from({ length: 500 }, (_, index) => sessionKeyOf({ ...run, sessionId: String(index) }))
    const notice = writeNotice(keys)
    expect(notice.length).toBeLessThan(8000)
    expect(readNotice(notice)).toEqual(keys)
  })

  it('means all sessions when their names would be too long', () => {
    expect(readNotice(writeNotice(Array.from({ length: 1000 }, () => 'abcdefghijkl')))).toBeNull()
  })

  it('may name no session', () => {
    expect(readNotice(writeNotice([]))).toEqual([])
  })
})
