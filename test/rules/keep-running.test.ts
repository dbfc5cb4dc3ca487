import type { Worker as Child } from 'node:cluster'
import { EventEmitter } from 'node:events'
import { afterEach, expect, it, vi } from 'vitest'
import { keepRunning, orKill } from '../../src/server/processes/processes.ts'
import { recordingLog } from '../support/recording-log.ts'
import type { LogLine } from '../support/recording-log.ts'
import { waitForValue } from '../support/wait.ts'

afterEach(() => void vi.restoreAllMocks())

/** A process that ends with this event. What else it has is not used. */
function childThatEnds(event: 'exit' | 'error', ...given: unknown[]): Child {
  const child = new EventEmitter()
  process.nextTick(() => child.emit(event, ...given))
  const system = { pid: 7, exitCode: 1, signalCode: null }
  return Object.assign(child, { isDead: () => false, process: system }) as unknown as Child
}

it('a process that the system refuses to start is started again later', async () => {
  const refused = new Error('spawn EAGAIN')
  const starts = [
    () => childThatEnds('error', refused),
    () => {
      throw refused
    },
  ]
  const lines: LogLine[] = []
  const stopping = new AbortController()
  const start = () => starts.shift()?.() ?? childThatEnds('exit')
  const keeping = keepRunning(childThatEnds('exit'), start, stopping.signal, recordingLog(lines))
  const ends = () => lines.map(({ fields }) => fields)
  await waitForValue('the log', ends, [
    { pid: 7, code: 1, signal: null, replacedAfterMs: 1000 },
    { err: refused, replacedAfterMs: 2000 },
    { err: refused, replacedAfterMs: 4000 },
  ])
  stopping.abort()
  await expect(keeping).resolves.toBeUndefined()
})

it('a process that has served for a minute is replaced after the shortest wait', async () => {
  const clock = vi.spyOn(performance, 'now').mockReturnValue(0)
  const serveForMinute = () => {
    clock.mockReturnValue(60_000)
    return childThatEnds('exit')
  }
  const starts = [serveForMinute]
  const lines: LogLine[] = []
  const stopping = new AbortController()
  const start = () => starts.shift()?.() ?? childThatEnds('exit')
  const keeping = keepRunning(childThatEnds('exit'), start, stopping.signal, recordingLog(lines))
  const ends = () => lines.map(({ fields }) => fields)
  const end = { pid: 7, code: 1, signal: null }
  const waits = [1000, 1000, 2000]
  await waitForValue(
    'the log',
    ends,
    waits.map((replacedAfterMs) => ({ ...end, replacedAfterMs })),
  )
  stopping.abort()
  await keeping
})

it('a process that hangs at a stop is killed, and its kill is logged', async () => {
  const lines: LogLine[] = []
  const { promise: ended, resolve: end } = Promise.withResolvers<string>()
  const hanging = { process: { pid: 7, kill: end } } as unknown as Child
  await orKill(ended, () => [hanging], 1, recordingLog(lines))
  await expect(ended).resolves.toBe('SIGKILL')
  expect(lines).toMatchObject([{ event: 'process.killed', fields: { pid: 7 } }])
})
