/**
 * `npm run bench`: what the service costs on a model call, beside references on the same upstream, in one run; README shows its table. CPU time is each
 * process's own (user and system, from /proc), so the load's own cost does not count. What is measured is a server at work: V8 goes on
 * compiling for tens of thousands of calls, and throws some of that away when the process has nothing to do, so each is warmed up, and the same load runs once,
 * uncounted, before it counts. Rounds go around the servers, and the median of each one's counts. Linux only.
 */
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'
import { hasNginx } from './nginx.ts'
import { openProcesses, rssKb } from './processes.ts'
import type { Server } from './processes.ts'

const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 7)
const UPSTREAM_PORT = 18_701
const WAVE = 200
const CHAT = '/v1/chat/completions'
const LEAVING = [
  ['stream', 'mid-stream'],
  ['never', 'before the first byte'],
] as const
const processes = openProcesses()

try {
  processes.start('test/bench/upstream.ts', [String(UPSTREAM_PORT)])
  const service = await processes.startService(18_702, UPSTREAM_PORT)
  const servers = [
    service,
    await processes.startGateway(18_703, UPSTREAM_PORT, service),
    await processes.startReference('Express + undici', 'test/bench/reference-bare.ts', 18_704, UPSTREAM_PORT),
    await processes.startReference(
      'Express + http-proxy-middleware',
      'test/bench/reference-middleware.ts',
      18_705,
      UPSTREAM_PORT,
    ),
    ...(hasNginx() ? [await processes.startNginx(18_706, UPSTREAM_PORT)] : []),
  ]
  if (!hasNginx()) console.log('nginx is not on PATH, so it is not compared.')
  console.log(`Medians of ${ROUNDS} rounds, Node ${process.version}\n`)
  printRow(
    '',
    servers.map(({ name }) => name),
  )
  printRow(
    '---',
    servers.map(() => '--:'),
  )
  await compare('JSON call, 1 KB body: CPU µs', servers, 10, (server) => jsonCalls(server, 1_000, 3_000))
  await compare('JSON call, 200 KB body: CPU µs', servers, 4, (server) => jsonCalls(server, 200_000, 400))
  await compare('JSON call, 1 MB body: CPU µs', servers, 2, (server) => jsonCalls(server, 1_000_000, 100))
  await compare('SSE chunk, 100 streams at 50 a second: CPU µs', servers, 4, (server) =>
    streamChunks(server, 100, 3_000),
  )
  await eachOnce('open idle stream (of 4,000): KB', servers, (server) => idleStreams(server, 4_000))
  for (const [phase, title] of LEAVING) {
    await eachOnce(`upstream calls open 1 s after 200 left ${title}`, servers, (server) => leavers(server, phase, 200))
  }
} finally {
  processes.close()
}

/** Measures so many times for nothing, and then in rounds. */
async function compare(
  title: string,
  servers: readonly Server[],
  warmUp: number,
  measure: (server: Server) => Promise<number>,
): Promise<void> {
  for (const server of servers) for (let times = 0; times < warmUp; times += 1) await measure(server)
  const rounds = servers.map((): number[] => [])
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [at, server] of servers.entries()) {
      await measure(server)
      rounds[at]?.push(await measure(server))
    }
  }
  printRow(
    title,
    rounds.map((figures) => (figures.toSorted((a, b) => a - b)[Math.floor(ROUNDS / 2)] ?? NaN).toFixed(0)),
  )
}

async function eachOnce(
  title: string,
  servers: readonly Server[],
  measure: (server: Server) => Promise<number>,
): Promise<void> {
  const figures: string[] = []
  for (const server of servers) figures.push((await measure(server)).toFixed(0))
  printRow(title, figures)
}

/** A row of a table in Markdown. */
function printRow(title: string, cells: readonly string[]): void {
  console.log(`| ${[title, ...cells].join(' | ')} |`)
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

/** The memory that an open stream without traffic takes, in KB: of the second half, because the first one finds memory that a process has kept. */
async function idleStreams(server: Server, streams: number): Promise<number> {
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

/** How many calls the upstream still serves a second after all callers left. */
async function leavers(server: Server, phase: 'stream' | 'never', callers: number): Promise<number> {
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
  return Number(await (await fetch(`http://127.0.0.1:${UPSTREAM_PORT}/open`)).text())
}

/** Opens streams in waves, which fit into everybody's line of connections that are not accepted yet. */
async function openStreams(server: Server, kind: string, count: number) {
  const pool = new Pool(server.origin, { connections: null, bodyTimeout: 0 })
  const body = bodyOf(1_000, true)
  let chunks = 0
  const openOne = async () => {
    const { body: stream, statusCode } = await pool.request({
      method: 'POST',
      path: CHAT,
      headers: headersOf(server, kind),
      body,
    })
    if (statusCode !== 200) throw new Error(`${server.name} answered ${statusCode}`)
    stream.on('data', () => (chunks += 1))
    stream.on('error', () => {})
  }
  for (let opened = 0; opened < count; opened += WAVE) {
    await Promise.all(Array.from({ length: Math.min(WAVE, count - opened) }, openOne))
  }
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

/** User and system time; the kernel counts it in hundredths of a second. */
function cpuMicros(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) * 10_000
}
