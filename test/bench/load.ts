/**
 * `npm run load` puts the service under many streams, callers that leave, slow readers and an upstream that sends
 * invalid answers, in several rounds (`--rounds N`, default 5). Before, it calls the local worker while the upstreams
 * cannot be reached. It prints the outcomes and a table of the memory, and exits with status 1 unless:
 *
 * - from the second call on, the local worker's first token is there within `MAX_OFFLINE_MS`;
 * - callers and the log get no errors other than those of the upstream;
 * - one second after its caller has left, no call is open at the upstream;
 * - memory does not grow: after the last round the process holds at most `MAX_GROWTH_BYTES` more than after the second.
 *   The first rounds warm up: compiled code, pools, the caches of the database.
 *
 * Linux only.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'
import { startEngine } from '../support/engine.ts'
import { readCountOption } from './count-option.ts'
import { offlineCalls, openSilentPort } from './offline.ts'
import { openProcesses, rssKb } from './processes.ts'
import type { Memory, Server, WatchedServer } from './processes.ts'

const WARM_UP_ROUNDS = 2
/** At least one round is compared with the last of those that warm up. */
const ROUNDS = readCountOption('load', 'rounds', 5, WARM_UP_ROUNDS + 1)
/** About 14,000 calls are made between the compared rounds, so a leak of 1 KB per call exceeds this. */
const MAX_GROWTH_BYTES = 8 * 1024 * 1024
const UPSTREAM_PORT = 18_711
/** Of the backends `silent-a` and `silent-b` in directory.yaml. */
const SILENT_PORT = 18_713
const MAX_OFFLINE_MS = 300
/** Of a slow reader. */
const MAX_HELD_KB = 400
const CHAT = '/v1/chat/completions'
/** Thousands of connections are opened at once, on the machine that also runs the service. */
const LONG_TIMEOUTS = { connectTimeout: 120_000, bodyTimeout: 0, headersTimeout: 0 }
const processes = openProcesses()
const engine = await startEngine()
const failures: string[] = []
const moments: { readonly moment: string; readonly calls: number; readonly memory: Memory }[] = []
let calls = 0

try {
  processes.start('test/bench/upstream.ts', [String(UPSTREAM_PORT)])
  await openSilentPort(processes, SILENT_PORT)
  const env = { SVC_LOCAL_ENGINE_URL: engine.url.href }
  const service = await processes.startWatchedService(18_712, UPSTREAM_PORT, env)
  await whileOffline(service)
  const note = async (moment: string): Promise<void> => {
    const memory = await settled(service)
    moments.push({ moment, calls, memory })
    report(`memory ${moment}`, `${mb(memory.rss / 1024)} MB`)
  }
  await note('at the start')
  for (let round = 1; round <= ROUNDS; round += 1) {
    console.log(`Round ${round}`)
    await concurrentStreams(service, 2_000, () => note(`round ${round}, 2,000 streams open`))
    await abortedStreams(service, 10_000 / ROUNDS)
    await slowReaders(service, 200)
    await invalidAnswers(service, 500)
    // The rows of these calls are written a second later.
    await sleep(1_500)
    await note(`round ${round}, over`)
  }
  const answer = await fetch(`${service.origin}/healthz`)
  expect(answer.ok, 'the service does not answer anymore')
  const errors = service.errors()
  expect(errors.length === 0, `the log has ${errors.length} errors, the first: ${errors[0]}`)
} finally {
  processes.close()
  await engine[Symbol.asyncDispose]()
}
printMemory()
judgeMemory()
for (const failure of failures) console.error(`FAILED: ${failure}`)
if (failures.length === 0) console.log('PASSED: all expectations held.')
process.exitCode = failures.length > 0 ? 1 : 0

/** The smallest of several measurements, because work in progress uses memory that is not held. */
async function settled(service: WatchedServer): Promise<Memory> {
  let smallest = await service.memory()
  for (let measurement = 0; measurement < 3; measurement += 1) {
    await sleep(500)
    const memory = await service.memory()
    if (heldBy(memory) < heldBy(smallest)) smallest = memory
  }
  return smallest
}

/**
 * The heap and the memory that it refers to. The resident memory also depends on the allocator, so it is only printed.
 */
function heldBy({ heapUsed, external }: Memory): number {
  return heapUsed + external
}

function printMemory(): void {
  const header = ['', 'calls', 'rss', 'heap', 'external', 'of it buffers'] as const
  const rows = moments.map(({ moment, calls: made, memory: { rss, heapUsed, external, arrayBuffers } }) => [
    moment,
    String(made),
    ...[rss, heapUsed, external, arrayBuffers].map((bytes) => mb(bytes / 1024)),
  ])
  console.log('\nMemory in MB, without garbage')
  for (const [moment = '', ...figures] of [header, ...rows]) {
    console.log(moment.padEnd(32) + figures.map((figure) => figure.padStart(14)).join(''))
  }
}

function judgeMemory(): void {
  const held = moments.filter(({ moment }) => moment.endsWith('over')).map(({ memory }) => heldBy(memory))
  const grown = (held.at(-1) ?? 0) - (held[WARM_UP_ROUNDS - 1] ?? 0)
  console.log(
    `\nHeld more after round ${ROUNDS} than after round ${WARM_UP_ROUNDS}: ${(grown / 1024 / 1024).toFixed(1)} MB`,
  )
  expect(grown <= MAX_GROWTH_BYTES, `memory is not flat: ${(grown / 1024 / 1024).toFixed(1)} MB more`)
}

async function whileOffline(service: Server): Promise<void> {
  const { first, longest } = await offlineCalls(service)
  const found = `first token after ${first.toFixed(0)} ms at the first call, then at most ${longest.toFixed(0)} ms`
  console.log(`Upstreams that cannot be reached\n  ${found}`)
  expect(longest <= MAX_OFFLINE_MS, `while offline, the local worker's first token took ${longest.toFixed(0)} ms`)
}

/** Opens all streams at the same time and reads each to its end. */
async function concurrentStreams(service: Server, count: number, whileOpen: () => Promise<void>): Promise<void> {
  const pool = new Pool(service.origin, { ...LONG_TIMEOUTS, connections: null })
  const reading: Promise<string>[] = []
  // In waves, because the system queues only some hundred connections for a busy server and rejects the others.
  for (let wave = 0; wave < 10; wave += 1) {
    reading.push(...Array.from({ length: count / 10 }, () => readWhole(pool, service, 'ends')))
    for (let waited = 0; waited < 10_000 && (await openAtUpstream()) < reading.length; waited += 50) await sleep(50)
  }
  const open_ = await openAtUpstream()
  await whileOpen()
  await fetch(`http://127.0.0.1:${UPSTREAM_PORT}/end`)
  const outcomes = await Promise.all(reading)
  await pool.destroy()
  const others = outcomes.filter((text) => !text.endsWith('data: [DONE]\n\n'))
  const whole = count - others.length
  report(`${count} concurrent streams`, `${open_} open at once, ${whole} whole`)
  expect(open_ === count, `${open_} of ${count} concurrent streams were open at once`)
  expect(whole === count, `${others.length} of ${count} concurrent streams were not whole; one was: ${others[0]}`)
}

/** Callers that leave before the first byte, at the first byte, or some bytes later; at most 200 at the same time. */
async function abortedStreams(service: Server, count: number): Promise<void> {
  let left = Math.round(count)
  let errors = 0
  const caller = async (): Promise<void> => {
    while (left-- > 0) {
      const pool = new Pool(service.origin, { ...LONG_TIMEOUTS, connections: 1 })
      const phase = left % 3
      const asking = open(pool, service, phase === 0 ? 'never' : 'stream')
      asking.catch(() => {})
      if (phase === 0) await sleep(5)
      else {
        const { statusCode, body } = await asking
        if (statusCode !== 200) errors += 1
        body.on('error', () => {})
        if (phase === 2) await new Promise((seen) => body.once('data', seen))
      }
      await pool.destroy()
    }
  }
  await Promise.all(Array.from({ length: 200 }, caller))
  await sleep(1_000)
  const open_ = await openAtUpstream()
  report(`${Math.round(count)} aborted streams`, `${errors} errors, ${await leftOpen(open_)}`)
  expect(errors === 0, `${errors} streams to be aborted got an error`)
  expect(open_ === 0, `${open_} upstream calls were open 1 s after their callers had left`)
}

/**
 * Callers that read a chunk from time to time, of streams that could be much faster. What they do not read must wait at
 * the upstream.
 */
async function slowReaders(service: WatchedServer, count: number): Promise<void> {
  const before = await service.memory()
  const residentKb = rssKb(service.pid)
  const pool = new Pool(service.origin, { ...LONG_TIMEOUTS, connections: null })
  const bodies = await Promise.all(Array.from({ length: count }, () => open(pool, service, 'flood')))
  for (const { body } of bodies) body.on('error', () => {}).pause()
  for (let turn = 0; turn < 10; turn += 1) {
    await sleep(300)
    for (const { body } of bodies) body.read()
  }
  const grown = rssKb(service.pid) - residentKb
  const heldKb = (heldBy(await service.memory()) - heldBy(before)) / 1024
  await pool.destroy()
  await sleep(1_000)
  const open_ = await openAtUpstream()
  report(`${count} slow readers`, `${mb(heldKb)} MB held, ${mb(grown)} MB resident, ${await leftOpen(open_)}`)
  // What one of them holds: two reads from the upstream that were not parsed, and what its own connection has not sent.
  expect(heldKb < count * MAX_HELD_KB, `${count} slow readers held ${mb(heldKb)} MB`)
  // What was resident for a moment, with the garbage of all bytes that have passed. The allocator keeps it.
  expect(grown < count * 1_024, `${count} slow readers took ${mb(grown)} MB`)
  expect(open_ === 0, `${open_} upstream calls were open 1 s after slow readers had left`)
}

/**
 * Invalid answers of the upstream: each caller gets 502 or a stream that breaks, and other callers are not affected.
 */
async function invalidAnswers(service: Server, count: number): Promise<void> {
  const pool = new Pool(service.origin, { ...LONG_TIMEOUTS, connections: 50 })
  const outcomes = await Promise.all(
    Array.from({ length: count }, async (_, nth) => {
      try {
        const { statusCode, body } = await open(pool, service, `garbage-${nth % 4}`)
        return await body.text().then(
          () => String(statusCode),
          () => 'broken',
        )
      } catch {
        return 'broken'
      }
    }),
  )
  await pool.destroy()
  const tally = Object.entries(Object.groupBy(outcomes, (outcome) => outcome)).map(
    ([outcome, all]) => `${all?.length} ${outcome}`,
  )
  report(`${count} invalid answers of the upstream`, tally.join(', '))
  expect(
    outcomes.every((outcome) => outcome === '502' || outcome === 'broken'),
    `invalid answers of the upstream led to ${tally.join(', ')}`,
  )
}

/** The text of a stream, or its error as text. */
async function readWhole(pool: Pool, service: Server, kind: string): Promise<string> {
  try {
    const { body } = await open(pool, service, kind)
    return await body.text()
  } catch (error) {
    return String(error)
  }
}

/** The kind of answer is in a header that the service passes on to the upstream. */
function open(pool: Pool, { headers }: Server, kind: string) {
  calls += 1
  const body = JSON.stringify({ model: 'vendora/large', stream: true, messages: [{ role: 'user', content: 'hi' }] })
  const sent = { ...headers, 'content-type': 'application/json', 'x-stainless-lang': kind }
  return pool.request({ method: 'POST', path: CHAT, headers: sent, body })
}

/** Tells calls that stay open from calls that a busy machine closes late. */
async function leftOpen(afterOneSecond: number): Promise<string> {
  const found = `${afterOneSecond} upstream calls open after 1 s`
  if (afterOneSecond === 0) return found
  await sleep(5_000)
  return `${found}, ${await openAtUpstream()} after 6 s`
}

async function openAtUpstream(): Promise<number> {
  return Number(await (await fetch(`http://127.0.0.1:${UPSTREAM_PORT}/open`)).text())
}

function report(what: string, found: string): void {
  console.log(`  ${what}: ${found}`)
}

function expect(holds: boolean, failure: string): void {
  if (!holds) failures.push(failure)
}

function mb(kb: number): string {
  return (kb / 1024).toFixed(0)
}
