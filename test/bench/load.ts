/**
 * `node test/bench/load.ts`: what happens to the service under many streams, leaving callers, slow readers and a mad upstream. Prints a line for each; ends
 * with an error when one of them did not end as it should. Linux only.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'
import { openProcesses, rssKb } from './processes.ts'
import type { Server } from './processes.ts'

const UPSTREAM_PORT = 18_711
const CHAT = '/v1/chat/completions'
const processes = openProcesses()
const failures: string[] = []

try {
  processes.start('test/bench/upstream.ts', [String(UPSTREAM_PORT)])
  const service = await processes.startService(18_712, UPSTREAM_PORT)
  const atFirst = rssKb(service.pid)
  for (let round = 1; round <= 3; round += 1) {
    await concurrentStreams(service, 2_000)
    await abortedStreams(service, 10_000 / 3)
    await slowReaders(service, 200)
    await madUpstream(service, 500)
    report(`round ${round}: memory`, `${mb(rssKb(service.pid))} MB (at first ${mb(atFirst)})`)
  }
  const answer = await fetch(`${service.origin}/healthz`)
  expect(answer.ok, 'the service does not answer any more')
} finally {
  processes.close()
}
for (const failure of failures) console.error(`FAILED: ${failure}`)
process.exitCode = failures.length > 0 ? 1 : 0

/** All streams open at once, each read to its end. */
async function concurrentStreams(service: Server, count: number): Promise<void> {
  const pool = new Pool(service.origin, { connections: null, bodyTimeout: 0, headersTimeout: 0 })
  const outcomes = await Promise.all(Array.from({ length: count }, () => readWhole(pool, service, 'ends')))
  await pool.destroy()
  const whole = outcomes.filter((text) => text.endsWith('data: [DONE]\n\n')).length
  report(`${count} concurrent streams`, `${whole} whole, ${mb(rssKb(service.pid))} MB`)
  expect(whole === count, `${count - whole} of ${count} concurrent streams were not whole`)
}

/** Callers that leave before the first byte, at the first byte, or some bytes later; at most 200 at once. */
async function abortedStreams(service: Server, count: number): Promise<void> {
  let left = Math.round(count)
  const caller = async (): Promise<void> => {
    while (left-- > 0) {
      const pool = new Pool(service.origin, { connections: 1, bodyTimeout: 0, headersTimeout: 0 })
      const phase = left % 3
      const asking = open(pool, service, phase === 0 ? 'never' : 'stream')
      asking.catch(() => {})
      if (phase === 0) await sleep(5)
      else {
        const { body } = await asking
        body.on('error', () => {})
        if (phase === 2) await new Promise((seen) => body.once('data', seen))
      }
      await pool.destroy()
    }
  }
  await Promise.all(Array.from({ length: 200 }, caller))
  await sleep(1_000)
  const open_ = await openAtUpstream()
  report(`${Math.round(count)} aborted streams`, `${open_} upstream calls open after 1 s, ${mb(rssKb(service.pid))} MB`)
  expect(open_ === 0, `${open_} upstream calls were open 1 s after their callers had left`)
}

/** Readers that take a chunk now and then, of streams that could be much faster; what they do not read must wait at the upstream. */
async function slowReaders(service: Server, count: number): Promise<void> {
  const before = rssKb(service.pid)
  const pool = new Pool(service.origin, { connections: null, bodyTimeout: 0, headersTimeout: 0 })
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
  report(`${count} slow readers`, `${mb(grown)} MB more, ${open_} upstream calls open after 1 s`)
  // A socket and a stream hold some hundred kilobytes each; an answer that piles up has no bound.
  expect(grown < count * 1_024, `${count} slow readers took ${mb(grown)} MB`)
  expect(open_ === 0, `${open_} upstream calls were open 1 s after slow readers had left`)
}

/** Answers that are no HTTP, stop in the middle, or are cut: each caller gets 502 or a stream that breaks, and nobody else anything. */
async function madUpstream(service: Server, count: number): Promise<void> {
  const pool = new Pool(service.origin, { connections: 50, bodyTimeout: 0, headersTimeout: 0 })
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
  const body = JSON.stringify({ model: 'vendora/large', stream: true, messages: [{ role: 'user', content: 'hi' }] })
  const sent = { ...headers, 'content-type': 'application/json', 'x-stainless-lang': kind }
  return pool.request({ method: 'POST', path: CHAT, headers: sent, body })
}

async function openAtUpstream(): Promise<number> {
  return Number(await (await fetch(`http://127.0.0.1:${UPSTREAM_PORT}/open`)).text())
}

function report(what: string, found: string): void {
  console.log(`${what}: ${found}`)
}

function expect(holds: boolean, failure: string): void {
  if (!holds) failures.push(failure)
}

function mb(kb: number): string {
  return (kb / 1024).toFixed(0)
}
