/**
 * What the benchmark measures of one server. CPU time is the time of the server's processes only, so the cost of the
 * load does not count.
 */
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'
import { toChat, toConversation } from './conversation.ts'
import { childrenOf, memberOf, rssKb } from './processes.ts'
import type { Server } from './processes.ts'

export const PATH = '/v1/chat/completions'
const MESSAGES_PATH = '/vendorb/v1/messages'
const CALLERS = 16
/**
 * Streams are opened in waves of this size, which fit into the queue of connections that a server has not accepted yet.
 */
const WAVE_STREAMS = 200

/** CPU time per JSON call in microseconds. `size` is the size of the request body in bytes. */
export async function jsonCalls(server: Server, size: number, count: number, callers = CALLERS): Promise<number> {
  return callMicros(server, PATH, bodyOf(size, false), count, callers)
}

/** CPU time per call of an agent with a long conversation, in microseconds. */
export async function agentCalls(server: Server, size: number, count: number): Promise<number> {
  return callMicros(server, PATH, toChat('vendora/large', size), count)
}

/**
 * The 99th percentile of the time that a call of 1 KB takes, in microseconds, at a fixed number of calls per second.
 * Calls start on time, whether earlier ones have ended or not. The first tenth of a second does not count: it opens the
 * connections, and finds a server that had nothing to do before.
 */
export async function slowestCalls(server: Server, perSecond: number, seconds: number): Promise<number> {
  const pool = new Pool(server.origin, { connections: 64 })
  const body = bodyOf(1_000, false)
  const times: number[] = []
  const callOnce = async (counts: boolean) => {
    const startedAt = performance.now()
    await callOrFail(pool, server, PATH, body)
    if (counts) times.push((performance.now() - startedAt) * 1000)
  }
  const startedAt = performance.now()
  const calls: Promise<void>[] = []
  const uncounted = perSecond / 10
  for (let call = 0; call < perSecond * seconds + uncounted; call += 1) {
    const waitMs = startedAt + (call * 1000) / perSecond - performance.now()
    if (waitMs > 0) await sleep(waitMs)
    calls.push(callOnce(call >= uncounted))
  }
  await Promise.all(calls)
  await pool.close()
  return times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? NaN
}

/**
 * How many times the CPU time of a call that passes unchanged a translated call takes. Both have the same conversation
 * of 200 KB. Each is measured before and after the other, because a later measurement finds more compiled code.
 */
export async function translatedRatio(server: Server, count: number): Promise<number> {
  const pass = () => callMicros(server, MESSAGES_PATH, toConversation('vendorb/writer'), count)
  const translate = () => callMicros(server, MESSAGES_PATH, toConversation('any/translated'), count)
  const [passed, translated, again, passedAgain] = [await pass(), await translate(), await translate(), await pass()]
  return (translated + again) / (passed + passedAgain)
}

function callMicros(server: Server, path: string, body: Buffer, count: number, callers = CALLERS): Promise<number> {
  return microsOf(server, count, callers, (pool) => callOrFail(pool, server, path, body))
}

/** The CPU time of the server for one run, of so many by so many callers at a time. */
async function microsOf(
  server: Server,
  count: number,
  callers: number,
  run: (pool: Pool, number: number) => Promise<void>,
): Promise<number> {
  const before = cpuMicros(server.pid)
  await runAll(server, count, callers, run)
  return (cpuMicros(server.pid) - before) / count
}

/** Runs something so many times, by so many callers at a time. */
export async function runAll(
  server: Server,
  count: number,
  callers: number,
  run: (pool: Pool, number: number) => Promise<void>,
): Promise<void> {
  const pool = new Pool(server.origin, { connections: callers })
  let left = count
  const caller = async () => {
    while (left > 0) await run(pool, (left -= 1))
  }
  await Promise.all(Array.from({ length: callers }, caller))
  await pool.close()
}

/** CPU time per login of a new device in microseconds. */
export function logins(server: Server, count: number): Promise<number> {
  return microsOf(server, count, CALLERS, makeLogin(server))
}

/** Makes a function that signs a new device in: the start, the approval by the link, and the poll. */
export function makeLogin(server: Server): (pool: Pool, number: number) => Promise<void> {
  const batch = randomUUID()
  return async (pool, number) => {
    const post = (path: string, body: object) => postOrFail(pool, server, path, body)
    const email = memberOf(number)
    const started = await post('/v1/auth/device/start', { email, deviceId: `${batch}-${number}` })
    // Emails are files, and then the link of the answer approves too.
    await post('/v1/auth/magic/consume', { token: new URL(started.verificationUri ?? '').searchParams.get('token') })
    await post('/v1/auth/device/poll', { deviceCode: started.deviceCode })
  }
}

/** The answer of an operation that must succeed. All its fields that are used are texts. */
async function postOrFail(pool: Pool, { name }: Server, path: string, body: object): Promise<Record<string, string>> {
  const headers = { 'content-type': 'application/json' }
  const answer = await pool.request({ method: 'POST', path, headers, body: JSON.stringify(body) })
  if (answer.statusCode >= 300) throw new Error(`${name} answered ${answer.statusCode}: ${await answer.body.text()}`)
  return (await answer.body.json()) as Record<string, string>
}

async function callOrFail(pool: Pool, server: Server, path: string, body: Buffer): Promise<void> {
  const headers = headersOf(server, 'json')
  const { statusCode, body: answer } = await pool.request({ method: 'POST', path, headers, body })
  if (statusCode !== 200) throw new Error(`${server.name} answered ${statusCode}: ${await answer.text()}`)
  await answer.dump({ limit: 1_000_000 })
}

/** CPU time per chunk of a stream in microseconds. */
export async function streamChunks(server: Server, streams: number, durationMs: number): Promise<number> {
  const { pool, chunks } = await openStreams(server, 'stream', streams)
  const [from, before] = [chunks(), cpuMicros(server.pid)]
  await sleep(durationMs)
  const cost = (cpuMicros(server.pid) - before) / (chunks() - from)
  await pool.destroy()
  await sleep(500)
  return cost
}

/**
 * The memory of an open stream without traffic, in KB. It is measured on the second half of the streams, because the
 * first half can use memory that the process had kept.
 */
export async function idleStreams(server: Server, streams: number): Promise<number> {
  const first = await openStreams(server, 'idle', streams / 2)
  await sleep(5_000)
  const before = rssKb(server.pid)
  const second = await openStreams(server, 'idle', streams / 2)
  await sleep(5_000)
  const perStream = (rssKb(server.pid) - before) / (streams / 2)
  await Promise.all([first.pool.destroy(), second.pool.destroy()])
  await sleep(1_500)
  return perStream
}

/** When callers leave: while they receive a stream, or before the first byte of the answer. */
export type LeavingPhase = 'stream' | 'never'

/** The number of calls that are still open at the upstream one second after all callers have left. */
export async function openAfterLeaving(
  server: Server,
  phase: LeavingPhase,
  callers: number,
  upstreamPort: number,
): Promise<number> {
  const pool = phase === 'never' ? startCalls(server, callers) : (await openStreams(server, 'stream', callers)).pool
  if (phase === 'never') await sleep(2_000)
  await pool.destroy()
  await sleep(1_000)
  return Number(await (await fetch(`http://127.0.0.1:${upstreamPort}/open`)).text())
}

/** Sends calls that the upstream never answers. They fail when the pool is destroyed. */
function startCalls(server: Server, count: number): Pool {
  const pool = new Pool(server.origin, { connections: null, headersTimeout: 0 })
  const body = bodyOf(1_000, true)
  for (let call = 0; call < count; call += 1) {
    pool.request({ method: 'POST', path: PATH, headers: headersOf(server, 'never'), body }).catch(() => {})
  }
  return pool
}

async function openStreams(server: Server, kind: string, count: number) {
  const pool = new Pool(server.origin, { connections: null, bodyTimeout: 0 })
  const body = bodyOf(1_000, true)
  let chunks = 0
  const openOne = async () => {
    const headers = headersOf(server, kind)
    const { body: stream, statusCode } = await pool.request({ method: 'POST', path: PATH, headers, body })
    if (statusCode !== 200) throw new Error(`${server.name} answered ${statusCode}: ${await stream.text()}`)
    stream.on('data', () => (chunks += 1))
    stream.on('error', () => {})
  }
  for (let opened = 0; opened < count; opened += WAVE_STREAMS) {
    await Promise.all(Array.from({ length: Math.min(WAVE_STREAMS, count - opened) }, openOne))
  }
  return { pool, chunks: () => chunks }
}

/** The headers of a call. The kind of answer is in one that the service passes on to the upstream. */
export function headersOf({ headers }: Server, kind: string): Record<string, string> {
  return { ...headers, 'content-type': 'application/json', 'x-stainless-lang': kind }
}

/** The body of a call, of about `size` bytes. */
export function bodyOf(size: number, stream: boolean): Buffer {
  const messages = [{ role: 'user', content: 'word '.repeat(Math.max(1, (size - 100) / 5)) }]
  return Buffer.from(JSON.stringify({ model: 'vendora/large', stream, messages }))
}

/** User and system time of a process and its children. The kernel counts them in hundredths of a second. */
export function cpuMicros(pid: number): number {
  const micros = [pid, ...childrenOf(pid)].map((one) => {
    const fields = readFileSync(`/proc/${one}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
    return (Number(fields[11]) + Number(fields[12])) * 10_000
  })
  return micros.reduce((sum, one) => sum + one, 0)
}
