/**
 * `npm run load`: what happens to the service under many streams, leaving callers, slow readers and a mad upstream, round after round. Prints what
 * came of each and a table of the memory, and ends with status 1 when a promise was broken:
 *
 * - no caller gets an error that is not the upstream's, and the log has none either;
 * - one second after its caller has left, no call is open at the upstream;
 * - memory is flat: what the process holds after the last round, without garbage, is what it held after the second, give or take
 *   `FLAT_BYTES`. The first rounds warm up: compiled code, pools, the caches of the database.
 *
 * Linux only.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'
import { openProcesses, rssKb } from './processes.ts'
import type { Memory, Server, WatchedServer } from './processes.ts'

const ROUNDS = Number(process.env['LOAD_ROUNDS'] ?? 5)
const WARM_UP = 2
/** Between the rounds that are compared lie some 14,000 calls: a leak of one kilobyte a call is more. */
const FLAT_BYTES = 8 * 1024 * 1024
const UPSTREAM_PORT = 18_711
const CHAT = '/v1/chat/completions'
/** Thousands connect at once, and the machine is the service's and the callers'. */
const PATIENT = { connectTimeout: 120_000, bodyTimeout: 0, headersTimeout: 0 }
const processes = openProcesses()
const failures: string[] = []
const moments: { readonly moment: string; readonly calls: number; readonly memory: Memory }[] = []
let calls = 0

try {
  processes.start('test/bench/upstream.ts', [String(UPSTREAM_PORT)])
  const service = await processes.startWatchedService(18_712, UPSTREAM_PORT)
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
    await madUpstream(service, 500)
    // The rows of these calls are written a second later.
    await sleep(1_500)
    await note(`round ${round}, over`)
  }
  const answer = await fetch(`${service.origin}/healthz`)
  expect(answer.ok, 'the service does not answer any more')
  const errors = service.errors()
  expect(errors.length === 0, `the log has ${errors.length} errors, the first: ${errors[0]}`)
} finally {
  processes.close()
}
printMemory()
judgeMemory()
for (const failure of failures) console.error(`FAILED: ${failure}`)
if (failures.length === 0) console.log('PASSED: every promise held.')
process.exitCode = failures.length > 0 ? 1 : 0

/** The least of some looks: what is being done at the moment is not held. */
async function settled(service: WatchedServer): Promise<Memory> {
  let least = await service.memory()
  for (let look = 0; look < 3; look += 1) {
    await sleep(500)
    const memory = await service.memory()
    if (heldBy(memory) < heldBy(least)) least = memory
  }
  return least
}

/** The heap and what hangs on it. How much of it the system has given is the allocators' business, and is shown. */
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
  const grown = (held.at(-1) ?? 0) - (held[WARM_UP - 1] ?? 0)
  console.log(`\nHeld more after round ${ROUNDS} than after round ${WARM_UP}: ${(grown / 1024 / 1024).toFixed(1)} MB`)
  expect(grown <= FLAT_BYTES, `memory is not flat: ${(grown / 1024 / 1024).toFixed(1)} MB more`)
}

/** All streams open at once, each read to its end. */
async function concurrentStreams(service: Server, count: number, whileOpen: () => Promise<void>): Promise<void> {
  const pool = new Pool(service.origin, { ...PATIENT, connections: null })
  const reading: Promise<string>[] = []
  // In waves: the system keeps some hundred connections for a server that is busy, and turns the others away.
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

/** Callers that leave before the first byte, at the first byte, or some bytes later; at most 200 at once. */
async function abortedStreams(service: Server, count: number): Promise<void> {
  let left = Math.round(count)
  let errors = 0
  const caller = async (): Promise<void> => {
    while (left-- > 0) {
      const pool = new Pool(service.origin, { ...PATIENT, connections: 1 })
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
  expect(errors === 0, `${errors} streams to be aborted were refused`)
  expect(open_ === 0, `${open_} upstream calls were open 1 s after their callers had left`)
}

/** Readers that take a chunk now and then, of streams that could be much faster; what they do not read must wait at the upstream. */
async function slowReaders(service: Server, count: number): Promise<void> {
  const before = rssKb(service.pid)
  const pool = new Pool(service.origin, { ...PATIENT, connections: null })
  const bodies = await Promise.all(Array.from({ length: count }, () => open(pool, service, 'flood')))
  for (const { body } of bodies) body.on('error', () => {}).pause()
  for (let turn = 0; turn < 10; turn += 1) {
    await sleep(300)
    for (const { body } of bodies) body.read()
  }
  const grown = rssKb(service.pid) - before
  await pool.destroy()
  await sleep(1_000)
  const open_ = await openAtUpstream()
  report(`${count} slow readers`, `${mb(grown)} MB more, ${await leftOpen(open_)}`)
  // A socket and a stream hold some hundred kilobytes each; an answer that piles up has no bound.
  expect(grown < count * 1_024, `${count} slow readers took ${mb(grown)} MB`)
  expect(open_ === 0, `${open_} upstream calls were open 1 s after slow readers had left`)
}

/** Answers that are no HTTP, stop in the middle, or are cut: each caller gets 502 or a stream that breaks, and nobody else anything. */
async function madUpstream(service: Server, count: number): Promise<void> {
  const pool = new Pool(service.origin, { ...PATIENT, connections: 50 })
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
  report(`${count} answers of a mad upstream`, tally.join(', '))
  expect(
    outcomes.every((outcome) => outcome === '502' || outcome === 'broken'),
    `a mad upstream led to ${tally.join(', ')}`,
  )
}

/** The text of a stream; what came of it where it broke. */
async function readWhole(pool: Pool, service: Server, kind: string): Promise<string> {
  try {
    const { body } = await open(pool, service, kind)
    return await body.text()
  } catch (error) {
    return String(error)
  }
}

/** The kind of answer travels in a header that crosses to the upstream. */
function open(pool: Pool, { headers }: Server, kind: string) {
  calls += 1
  const body = JSON.stringify({ model: 'vendora/large', stream: true, messages: [{ role: 'user', content: 'hi' }] })
  const sent = { ...headers, 'content-type': 'application/json', 'x-stainless-lang': kind }
  return pool.request({ method: 'POST', path: CHAT, headers: sent, body })
}

/** One that is open for good is another thing than one that a busy machine closes late. */
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
