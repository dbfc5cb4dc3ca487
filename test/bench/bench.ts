/**
 * `npm run bench`: what the service costs on a model call, beside a bare proxy on the same parts, in one run. CPU time is the server process's
 * own (user and system, from /proc), so the load's own cost does not count. Rounds alternate between the two; the best round of each counts, because
 * a busy machine only ever adds. Linux only.
 */
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'
import { openProcesses, rssKb } from './processes.ts'
import type { Server } from './processes.ts'

const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 5)
const UPSTREAM_PORT = 18_701
const CHAT = '/v1/chat/completions'
const processes = openProcesses()

try {
  processes.start('test/bench/upstream.ts', [String(UPSTREAM_PORT)])
  const reference = await startReference(18_702)
  const ours = await processes.startService(18_703, UPSTREAM_PORT)
  console.log(`CPU microseconds of the server process; best of ${ROUNDS} alternating rounds; Node ${process.version}\n`)
  await compare('JSON call, 1 KB body', [ours, reference], (server) => jsonCalls(server, 1_000, 1_500))
  await compare('JSON call, 200 KB body', [ours, reference], (server) => jsonCalls(server, 200_000, 150))
  await compare('JSON call, 1 MB body', [ours, reference], (server) => jsonCalls(server, 1_000_000, 40))
  await compare('SSE chunk, 100 streams at 50 a second', [ours, reference], (server) =>
    streamChunks(server, 100, 4_000),
  )
  for (const server of [ours, reference]) await idleStreams(server, 2_000)
  for (const server of [ours, reference]) for (const phase of ['stream', 'never']) await leavers(server, phase, 200)
} finally {
  processes.close()
}

async function compare(
  title: string,
  servers: readonly Server[],
  measure: (server: Server) => Promise<number>,
): Promise<void> {
  const best = new Map<string, number>()
  for (const server of servers) await measure(server)
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const server of servers)
      best.set(server.name, Math.min(best.get(server.name) ?? Infinity, await measure(server)))
  }
  console.log(`${title}: ${[...best].map(([name, us]) => `${name} ${us.toFixed(0)}`).join(', ')}`)
}

/** Microseconds a call. */
async function jsonCalls(server: Server, size: number, count: number): Promise<number> {
  const pool = new Pool(server.origin, { connections: 16 })
  const body = bodyOf(size, false)
  const before = cpuMicros(server.pid)
  let left = count
  const caller = async () => {
    while (left-- > 0) {
      const { statusCode, body: answer } = await pool.request({
        method: 'POST',
        path: CHAT,
        headers: headersOf(server, 'json'),
        body,
      })
      await answer.dump({ limit: 1_000_000 })
      if (statusCode !== 200) throw new Error(`${server.name} answered ${statusCode}`)
    }
  }
  await Promise.all(Array.from({ length: 16 }, caller))
  const used = cpuMicros(server.pid) - before
  await pool.close()
  return used / count
}

/** Microseconds a chunk. */
async function streamChunks(server: Server, streams: number, forMs: number): Promise<number> {
  const { pool, chunks } = await openStreams(server, 'stream', streams)
  const [from, before] = [chunks(), cpuMicros(server.pid)]
  await sleep(forMs)
  const cost = (cpuMicros(server.pid) - before) / (chunks() - from)
  await pool.destroy()
  await sleep(500)
  return cost
}

/** Prints the memory that open streams without traffic take. */
async function idleStreams(server: Server, streams: number): Promise<void> {
  const before = rssKb(server.pid)
  const { pool } = await openStreams(server, 'idle', streams)
  await sleep(5_000)
  console.log(`KB per open idle stream, ${server.name}: ${((rssKb(server.pid) - before) / streams).toFixed(0)}`)
  await pool.destroy()
  await sleep(1_500)
}

/** Prints how many calls the upstream still serves a second after all callers left. */
async function leavers(server: Server, phase: string, callers: number): Promise<void> {
  if (phase === 'never') {
    const pool = new Pool(server.origin, { connections: null, headersTimeout: 0 })
    const body = bodyOf(1_000, true)
    for (let call = 0; call < callers; call += 1) {
      pool.request({ method: 'POST', path: CHAT, headers: headersOf(server, 'never'), body }).catch(() => {})
    }
    await sleep(2_000)
    await pool.destroy()
  } else {
    const { pool } = await openStreams(server, 'stream', callers)
    await pool.destroy()
  }
  await sleep(1_000)
  const open = await (await fetch(`http://127.0.0.1:${UPSTREAM_PORT}/open`)).text()
  console.log(
    `Upstream calls open 1 s after ${callers} callers left (${phase === 'never' ? 'before the first byte' : 'mid-stream'}), ${server.name}: ${open}`,
  )
}

async function openStreams(server: Server, kind: string, count: number) {
  const pool = new Pool(server.origin, { connections: null, bodyTimeout: 0 })
  const body = bodyOf(1_000, true)
  let chunks = 0
  const opened = Array.from({ length: count }, async () => {
    const { body: stream, statusCode } = await pool.request({
      method: 'POST',
      path: CHAT,
      headers: headersOf(server, kind),
      body,
    })
    if (statusCode !== 200) throw new Error(`${server.name} answered ${statusCode}`)
    stream.on('data', () => (chunks += 1))
    stream.on('error', () => {})
  })
  await Promise.all(opened)
  return { pool, chunks: () => chunks }
}

/** The kind of answer travels in a header that crosses to the upstream. */
function headersOf({ headers }: Server, kind: string): Record<string, string> {
  return { ...headers, 'content-type': 'application/json', 'x-stainless-lang': kind }
}

function bodyOf(size: number, stream: boolean): Buffer {
  const messages = [{ role: 'user', content: 'word '.repeat(Math.max(1, (size - 100) / 5)) }]
  return Buffer.from(JSON.stringify({ model: 'vendora/large', stream, messages }))
}

async function startReference(port: number): Promise<Server> {
  const { pid } = processes.start('test/bench/reference.ts', [String(port), String(UPSTREAM_PORT)])
  const origin = `http://127.0.0.1:${port}`
  await processes.up(origin)
  return { name: 'bare Express + undici', pid: pid ?? 0, origin, headers: {} }
}

/** User and system time; the kernel counts it in hundredths of a second. */
function cpuMicros(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) * 10_000
}
