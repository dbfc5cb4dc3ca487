import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { CallEvent } from '../../src/gateway/usage/events.ts'
import { openRecorder } from '../../src/gateway/usage/recorder.ts'
import type { Spool } from '../../src/gateway/usage/spool.ts'
import { endedCall } from '../support/call-events.ts'

const UNREACHABLE = new Error('the database cannot be reached')
const REFUSED = new Error('a value out of range')
const WAITING = { fields: { err: UNREACHABLE }, event: 'call_events.waiting' }
const SAVED = { fields: {}, event: 'call_events.saved' }

function setUp({ maxWaiting = 10_000, spool = null }: { maxWaiting?: number; spool?: Spool | null } = {}) {
  const saved: string[][] = []
  const tried: string[] = []
  const cut: string[] = []
  const lost: [number, string][] = []
  const lines: { fields: object; event: string }[] = []
  const note = (fields: object, event: string) => void lines.push({ fields, event })
  const database: { fault: Error | null; refuses: (requestId: string) => boolean; beforeSave: () => void } = {
    fault: null,
    refuses: () => false,
    beforeSave: () => undefined,
  }
  const recorder = openRecorder(
    {
      onBatch: ({ id }) => void cut.push(id),
      onRefused: () => undefined,
      onLost: (events, loss) => void lost.push([events, loss]),
      async save({ id, events }) {
        tried.push(id)
        database.beforeSave()
        if (database.fault) throw database.fault
        const ids = events.map(({ call }) => call.requestId)
        if (ids.some(database.refuses)) throw REFUSED
        saved.push(ids)
      },
      mayWriteLater: (error) => error === UNREACHABLE,
      spool,
      log: { debug: note, info: note, warn: note, error: note },
    },
    maxWaiting,
  )
  const record = (from: number, count: number) => {
    for (let n = from; n < from + count; n++) recorder.record(eventOf(`req_${n}`))
  }
  return { saved, tried, cut, lost, lines, database, recorder, record }
}

describe('the recorder of call events', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it('saves the events of half a second in one batch, in order', async () => {
    const { saved, record } = setUp()
    record(1, 3)
    await vi.advanceTimersByTimeAsync(499)
    expect(saved).toEqual([])
    await vi.advanceTimersByTimeAsync(1)
    expect(saved).toEqual([['req_1', 'req_2', 'req_3']])
  })

  it('saves a full batch at once, and no event twice', async () => {
    const { saved, record } = setUp()
    record(1, 1100)
    await vi.advanceTimersByTimeAsync(0)
    expect(saved.map((batch) => batch.length)).toEqual([500])
    await vi.advanceTimersByTimeAsync(1000)
    expect(saved.map((batch) => batch.length)).toEqual([500, 500, 100])
    expect(new Set(saved.flat()).size).toBe(1100)
  })

  it('logs once that events wait, and why, until they can be saved again', async () => {
    const { lines, database, record } = setUp()
    for (const [index, fault] of [UNREACHABLE, UNREACHABLE, UNREACHABLE, null, UNREACHABLE].entries()) {
      database.fault = fault
      record(index + 1, 1)
      await vi.advanceTimersByTimeAsync(500)
    }
    expect(lines).toEqual([WAITING, SAVED, WAITING])
  })

  it('saves a spooled batch that cannot be removed once for each round, not in a loop', async () => {
    const batch = { id: 'batch_x', events: [eventOf('req_1')] }
    const { tried } = setUp({
      spool: { write: async () => true, readOldest: async () => batch, remove: async () => false },
    })
    await vi.advanceTimersByTimeAsync(1000)
    expect(tried).toEqual(['batch_x', 'batch_x'])
  })

  it('reads the spool again after it could not be read', async () => {
    const batch = { id: 'batch_x', events: [eventOf('req_1')] }
    const answers = ['failed', batch, 'none'] as const
    let asked = 0
    const { saved } = setUp({
      spool: { write: async () => true, readOldest: async () => answers[asked++] ?? 'none', remove: async () => true },
    })
    await vi.advanceTimersByTimeAsync(500)
    expect(saved).toEqual([])
    await vi.advanceTimersByTimeAsync(500)
    expect(saved).toEqual([['req_1']])
  })

  it('leaves events that come while it saves to the next batch', async () => {
    const { saved, database, record } = setUp()
    database.beforeSave = () => void (saved.length < 3 && record(100 * saved.length + 2, 1))
    record(1, 1)
    await vi.advanceTimersByTimeAsync(500)
    expect(saved).toEqual([['req_1']])
    await vi.advanceTimersByTimeAsync(500)
    expect(saved).toEqual([['req_1'], ['req_2']])
  })

  it('keeps events while the database cannot be reached, and then saves the same batch under the same id', async () => {
    const { saved, tried, cut, lines, database, record } = setUp()
    database.fault = UNREACHABLE
    record(1, 2)
    await vi.advanceTimersByTimeAsync(5000)
    record(3, 1)
    database.fault = null
    await vi.advanceTimersByTimeAsync(1000)
    expect(saved).toEqual([['req_1', 'req_2'], ['req_3']])
    expect(new Set(tried.slice(0, -1)).size).toBe(1)
    expect(tried.at(-1)).not.toBe(tried.at(0))
    // Each batch is announced once, before its first try.
    expect(cut).toEqual([...new Set(tried)])
    expect(lines).toEqual([WAITING, SAVED])
  })

  it('drops the oldest events beyond its limit, and logs how many', async () => {
    const { saved, lost, lines, database, record, recorder } = setUp({ maxWaiting: 100 })
    database.fault = UNREACHABLE
    record(1, 115)
    await vi.advanceTimersByTimeAsync(1000)
    database.fault = null
    await recorder.close()
    const kept = saved.flat()
    expect(kept.at(-1)).toBe('req_115')
    expect(lines).toEqual([WAITING, { fields: { events: 115 - kept.length }, event: 'call_events.dropped' }, SAVED])
    expect(lost).toEqual([[115 - kept.length, 'dropped']])
    expect(kept.length).toBeGreaterThanOrEqual(90)
    expect(kept.length).toBeLessThanOrEqual(100)
  })

  it('loses only the event that the database refuses, and says which one', async () => {
    const { saved, tried, cut, lost, lines, database, record } = setUp()
    database.refuses = (id) => id === 'req_3'
    record(1, 7)
    await vi.advanceTimersByTimeAsync(1000)
    expect(saved.flat()).toEqual(['req_1', 'req_2', 'req_4', 'req_5', 'req_6', 'req_7'])
    expect(lines).toEqual([
      { fields: { err: REFUSED, events: 1, requestIds: ['req_3'] }, event: 'call_events.refused' },
    ])
    expect(lost).toEqual([[1, 'refused']])
    expect(cut).toEqual(tried)

    record(8, 1)
    await vi.advanceTimersByTimeAsync(1000)
    expect(saved.at(-1)).toEqual(['req_8'])
  })

  it('gives up a batch in few statements and one line when the database refuses every event', async () => {
    const { saved, tried, lost, lines, database, record } = setUp()
    database.fault = REFUSED
    record(1, 500)
    await vi.advanceTimersByTimeAsync(1000)
    expect(tried.length).toBeLessThan(100)
    expect(lines).toHaveLength(1)
    expect(lines[0]?.fields).toMatchObject({ err: REFUSED, events: 500 })
    expect(lost).toEqual([[500, 'refused']])

    database.fault = null
    record(501, 1)
    await vi.advanceTimersByTimeAsync(1000)
    expect(saved).toEqual([['req_501']])
  })

  it('loses at most 16 events for each refused one behind the eighth', async () => {
    const { saved, lost, database, record } = setUp()
    const isRefused = (id: string) => Number(id.slice(4)) % 50 === 0
    database.refuses = isRefused
    record(1, 500)
    await vi.advanceTimersByTimeAsync(1000)
    const kept = new Set(saved.flat())
    expect([...kept].filter(isRefused)).toEqual([])
    // The first eight are found alone.
    expect(kept.size).toBeGreaterThanOrEqual(500 - 8 - 2 * 16)
    expect([...kept].filter((id) => Number(id.slice(4)) < 400)).toHaveLength(399 - 7)
    expect(lost).toEqual([[500 - kept.size, 'refused']])
  })

  it('keeps the rest of a refused batch when the database becomes unavailable, and then saves each event once', async () => {
    const { saved, tried, lines, database, record } = setUp()
    database.refuses = (id) => id === 'req_5'
    database.beforeSave = () => void (database.fault = tried.length > 2 ? UNREACHABLE : null)
    record(1, 6)
    await vi.advanceTimersByTimeAsync(2000)
    expect(saved).toEqual([['req_1', 'req_2', 'req_3']])

    database.beforeSave = () => void (database.fault = null)
    await vi.advanceTimersByTimeAsync(1000)
    expect(saved.flat()).toEqual(['req_1', 'req_2', 'req_3', 'req_4', 'req_6'])
    expect(lines.map(({ event }) => event)).toEqual(['call_events.waiting', 'call_events.saved', 'call_events.refused'])
  })

  it('asks the database for no other part of a refused batch once it is unavailable', async () => {
    const { tried, database, record } = setUp()
    database.refuses = (id) => id === 'req_1'
    database.beforeSave = () => void (database.fault = tried.length > 2 ? UNREACHABLE : null)
    record(1, 6)
    await vi.advanceTimersByTimeAsync(500)
    const [batch] = tried
    expect(tried).toEqual([batch, `${batch}.1`, `${batch}.1.1`])
  })

  it('saves everything before it closes', async () => {
    const { saved, record, recorder } = setUp()
    record(1, 1200)
    await recorder.close()
    expect(saved.flat()).toHaveLength(1200)
  })

  it('closes while the database cannot be reached, and logs how many events are lost', async () => {
    const { lines, database, record, recorder } = setUp()
    database.fault = UNREACHABLE
    record(1, 7)
    await recorder.close()
    expect(lines).toEqual([WAITING, { fields: { events: 7 }, event: 'call_events.dropped' }])
  })
})

function eventOf(requestId: string): CallEvent {
  return endedCall({ call: { requestId } })
}
