import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { NO_USAGE } from '../../src/gateway/dialects/tokens/usage.ts'
import type { CallEvent } from '../../src/gateway/usage/events.ts'
import { openRecorder } from '../../src/gateway/usage/recorder.ts'
import { sumSpending } from '../../src/gateway/usage/spending-sums.ts'
import { openSpool } from '../../src/gateway/usage/spool.ts'
import { systemClock } from '../../src/kernel/clock.ts'
import { endedCall } from '../support/call-events.ts'
import { waitForValue } from '../support/wait.ts'

const UNMEASURED = {
  isSent: true,
  usage: NO_USAGE,
  isEstimated: false,
  costNanoUsd: null,
  spent: { day: '2026-11-21', nanoUsd: 0 },
}

const UNREACHABLE = new Error('the database cannot be reached')
const AT = '2026-11-22T00:00:00.000Z'

let root: string
let directory: string
let lines: string[]
/** By their batches, as the database remembers them. */
let saved: Map<string, readonly CallEvent[]>
let isUnavailable: boolean
/** The id of a request whose event the database refuses. */
let refused: string | null
/** The database becomes unavailable when it gets a second half with the event of this request. */
let outageAt: string | null
let lost: number
/** The batches that were sent to the database, and how long each takes it. */
let sent: string[]
let takesMs: number
let onSent: () => void

beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'svc-spool-'))
  directory = path.join(root, 'spool')
  lines = []
  saved = new Map()
  isUnavailable = false
  refused = null
  outageAt = null
  lost = 0
  sent = []
  takesMs = 0
  onSent = () => undefined
})
afterEach(() => rm(root, { recursive: true }))

const note = (_fields: object, event: string) => void lines.push(event)
const log = { debug: note, info: note, warn: note, error: note }

function open(maxBytes = 1_000_000) {
  return openRecorder({
    async save({ id, events }) {
      isUnavailable ||= id.endsWith('.2') && events.some(({ call }) => call.requestId === outageAt)
      if (isUnavailable) throw UNREACHABLE
      sent.push(id)
      onSent()
      if (takesMs > 0) await delay(takesMs)
      if (events.some(({ call }) => call.requestId === refused)) throw new Error('a value out of range')
      if (!saved.has(id)) saved.set(id, events)
    },
    onBatch: () => undefined,
    onRefused: () => undefined,
    onLost: (events) => void (lost += events),
    mayWriteLater: (error) => error === UNREACHABLE,
    spool: openSpool({ directory, clock: systemClock, log, maxBytes }),
    log,
  })
}

function eventOf(requestId: string): CallEvent {
  return endedCall({ at: AT, call: { requestId } })
}

/** Leaves the events of these requests in the spool, in one batch. */
async function spoolAll(requestIds: readonly string[]): Promise<void> {
  isUnavailable = true
  const recorder = open()
  for (const id of requestIds) recorder.record(eventOf(id))
  await recorder.close()
  isUnavailable = false
  lines.length = 0
}

const savedIds = () => [...saved.values()].flat().map(({ call }) => call.requestId)
const files = () => readdir(directory)

describe('the recorder with a spool', () => {
  it('keeps events over a stop while the database is unavailable, and the next start saves them once', async () => {
    isUnavailable = true
    const first = open()
    for (let n = 0; n < 1200; n++) first.record(eventOf(`req_${n}`))
    await first.close()
    expect([savedIds(), lines]).toEqual([[], ['call_events.waiting']])

    isUnavailable = false
    const [second, third] = [open(), open()]
    await waitForValue('the files', files, [])
    await second.close()
    await third.close()
    expect(savedIds().toSorted()).toEqual(Array.from({ length: 1200 }, (_, n) => `req_${n}`).toSorted())
    expect([...saved.values()][0]?.[0]).toEqual(eventOf('req_0'))
    expect(lines).toEqual(['call_events.waiting'])
  })

  it('keeps the events of an outage on the disk, for a process that is killed', async () => {
    isUnavailable = true
    const killed = open()
    killed.record(eventOf('req_1'))
    await waitForValue('the number of files', async () => (await files()).length, 1)
    isUnavailable = false
    const next = open()
    await waitForValue('what was saved', savedIds, ['req_1'])
    await next.close()
    await killed.close()
    expect(savedIds()).toEqual(['req_1'])
  })

  it('is readable for its user only', async () => {
    isUnavailable = true
    const recorder = open()
    recorder.record(eventOf('req_1'))
    await recorder.close()
    const [name = ''] = await files()
    const modeOf = async (at: string) => ((await stat(at)).mode & 0o777).toString(8)
    expect([await modeOf(directory), await modeOf(path.join(directory, name))]).toEqual(['700', '600'])
  })

  it('reports what it drops when the directory is full', async () => {
    isUnavailable = true
    const recorder = open(10)
    recorder.record(eventOf('req_1'))
    await recorder.close()
    expect([await files(), lines]).toEqual([[], ['call_events.waiting', 'call_events.dropped']])
  })

  it('reports a directory that it cannot use, and goes on', async () => {
    await writeFile(directory, 'a file in its place')
    isUnavailable = true
    const recorder = open()
    recorder.record(eventOf('req_1'))
    await recorder.close()
    expect(lines).toEqual(['call_events.waiting', 'call_events.spool_failed', 'call_events.dropped'])
  })

  it.each([
    ['is cut off', (file: string) => writeFile(file, '{"id":"batch_x","eve')],
    ['cannot be read', (file: string) => mkdir(file)],
  ])('sets a file aside that %s, and saves the others', async (_what, write) => {
    await spoolAll(['req_1'])
    await write(path.join(directory, '1-batch_x.json'))
    const second = open()
    await waitForValue('what was saved', savedIds, ['req_1'])
    await second.close()
    expect([await files(), lines]).toEqual([['1-batch_x.json.unreadable'], ['call_events.spool_unreadable']])
  })

  it('skips a file that it can neither read nor rename, and saves the others', async () => {
    await spoolAll(['req_1'])
    await mkdir(path.join(directory, '1-batch_x.json'))
    await mkdir(path.join(directory, '1-batch_x.json.unreadable', 'in the way'), { recursive: true })
    const second = open()
    await waitForValue('what was saved', savedIds, ['req_1'])
    await second.close()
    expect([await files(), lines]).toEqual([
      ['1-batch_x.json', '1-batch_x.json.unreadable'],
      ['call_events.spool_unreadable'],
    ])
  })

  it('reports a directory that it cannot create before a batch has to wait', async () => {
    directory = '/sys/spool'
    const recorder = open()
    await waitForValue('the lines', () => lines, ['call_events.spool_failed'])
    await recorder.close()
  })

  it('reports a directory that it cannot read once, and reads it when that is mended', async () => {
    await writeFile(directory, 'a file in its place')
    const spool = openSpool({ directory, clock: systemClock, log })
    expect([await spool.readOldest(), await spool.readOldest()]).toEqual(['failed', 'failed'])
    expect(lines).toEqual(['call_events.spool_failed'])
    await rm(directory)
    expect(await spool.readOldest()).toBe('none')
  })

  it('saves each event of a refused batch once, also when two processes divide it', async () => {
    await spoolAll(['req_0', 'req_1', 'req_2', 'req_3'])
    refused = 'req_3'
    const [second, third] = [open(), open()]
    await waitForValue('the files', files, [])
    await second.close()
    await third.close()
    expect(savedIds().toSorted()).toEqual(['req_0', 'req_1', 'req_2'])
    expect(new Set(lines)).toEqual(new Set(['call_events.refused']))
  })

  it('sends each batch once, also when that takes longer than the time in which events are collected', async () => {
    await spoolAll(Array.from({ length: 1200 }, (_, n) => `req_${n}`))
    takesMs = 700
    const recorder = open()
    for (let n = 0; (await files()).length > 0; n++) {
      recorder.record(eventOf(`later_${n}`))
      await delay(100)
    }
    await recorder.close()
    expect(sent.length).toBe(new Set(sent).size)
  })

  it('leaves what is still in it to the next start when it is closed', async () => {
    await spoolAll(Array.from({ length: 1200 }, (_, n) => `req_${n}`))
    const spooled = (await files()).toSorted()
    const recorder = open()
    const closed = Promise.withResolvers<unknown>()
    onSent = () => closed.resolve(recorder.close())
    await closed.promise
    expect([sent.length, (await files()).toSorted()]).toEqual([1, spooled.slice(1)])
  })

  it('counts a refused event once, also when the database becomes unavailable while its batch is divided', async () => {
    await spoolAll(['req_0', 'req_1', 'req_2', 'req_3'])
    ;[refused, outageAt] = ['req_0', 'req_3']
    const recorder = open()
    await waitForValue('what was saved', savedIds, ['req_1'])
    await waitForValue('the outage', () => isUnavailable, true)
    ;[isUnavailable, outageAt] = [false, null]
    await waitForValue('the files', files, [])
    await recorder.close()
    expect([savedIds(), lost]).toEqual([['req_1', 'req_2', 'req_3'], 1])
  })

  it('keeps the events of a version that wrote less, and what it did not write is unknown', async () => {
    const { call, at } = eventOf('req_1')
    const result = { outcome: 'whole', status: 200, firstByteMs: 1, durationMs: 2 }
    const priced = { ...result, usage: { inputTokens: 7 }, costNanoUsd: 21 }
    const events = [
      { kind: 'started', at, call, result: null },
      { kind: 'finished', at, call, result },
      { kind: 'finished', at, call, result: priced },
      { kind: 'failed', at, call, result: { ...result, outcome: 'unreachable', status: null } },
    ]
    await mkdir(directory)
    await writeFile(path.join(directory, '1-batch_x.json'), JSON.stringify({ id: 'batch_x', events }))
    const recorder = open()
    await waitForValue('the files', files, [])
    await recorder.close()
    const [started, unknown, known, unreachable] = saved.get('batch_x') ?? []
    expect(started).toEqual(events[0])
    expect(unknown?.result).toEqual({
      ...result,
      attempts: [],
      ...UNMEASURED,
      spent: { day: '2026-11-22', nanoUsd: 0 },
    })
    expect(known?.result).toMatchObject({ ...priced, spent: { day: '2026-11-22', nanoUsd: 21 } })
    expect(unreachable?.result).toMatchObject({ isSent: false })
    // What saves them reads all members.
    expect(sumSpending([...(saved.get('batch_x') ?? [])])).toHaveLength(1)
    expect(lines).toEqual([])
  })
})
