/**
 * Whether several processes (SVC_PROCESSES) serve several times as many calls as one. The callers and the upstream use
 * plain sockets, so that they take little of the cores and every gateway is busy all the time.
 */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'
import { bodyOf, cpuMicros, headersOf, PATH } from './measures.ts'
import { childrenOf } from './processes.ts'
import type { Processes, Server } from './processes.ts'
import { countCalls, makeRequest, serveRaw } from './raw-calls.ts'
import { measureInRounds } from './rounds.ts'

/** V8 compiles for tens of thousands of calls, in each process on its own. */
const WARM_UPS = 8
const ROUND_MS = 2_000
const CALLERS = 16
const BODY_BYTES = 1_000
const UPSTREAM_PORT = 18_705

export type Scaling = {
  /** Calls a second, on cores that also carry the callers and the upstream. */
  readonly measuredPerSecond: number
  /** CPU time per call, of all processes together. */
  readonly micros: number
  /** The part of the connections that the process with the most of them has. */
  readonly largestPart: number
  /** Calls a second when each process has a core of its own and the busiest one has no time left. */
  readonly perSecond: number
}

type Given = {
  readonly processes: Processes
  /** How many processes are compared with one. */
  readonly count: number
  readonly rounds: number
}

/** Whether two processes of this machine can run at the same time. */
export function canCompareProcesses(): boolean {
  return availableParallelism() > 1
}

/** Measures a gateway of one process and one of several in alternating rounds. */
export async function compareProcesses({ processes, count, rounds }: Given): Promise<readonly Scaling[][]> {
  serveRaw(UPSTREAM_PORT)
  const service = await processes.startService(18_702, UPSTREAM_PORT)
  const compared = [
    { count: 1, gateway: await processes.startGateway(18_703, UPSTREAM_PORT, service) },
    { count, gateway: await processes.startGateway(18_704, UPSTREAM_PORT, service, { count }) },
  ]
  // In parts, because a process that starts later gets none of the connections that are open.
  for (const one of compared) for (let time = 0; time < WARM_UPS; time += 1) await call(one)
  return measureInRounds(compared, rounds, measure)
}

type Compared = { readonly gateway: Server; readonly count: number }

async function measure({ gateway, count }: Compared): Promise<Scaling> {
  const before = cpuMicros(gateway.pid)
  const calls = await call({ gateway, count })
  const micros = (cpuMicros(gateway.pid) - before) / calls
  const largestPart = await largestPartOfConnections(gateway, count * CALLERS)
  return { measuredPerSecond: (calls * 1000) / ROUND_MS, micros, largestPart, perSecond: 1e6 / (micros * largestPart) }
}

function call({ gateway, count }: Compared): Promise<number> {
  const { port } = new URL(gateway.origin)
  const request = makeRequest(PATH, headersOf(gateway, 'json'), bodyOf(BODY_BYTES, false))
  return countCalls(Number(port), request, count * CALLERS, ROUND_MS)
}

/** Opens connections at once, when the former ones have ended, and counts how many each process has. */
async function largestPartOfConnections({ origin, pid }: Server, connections: number): Promise<number> {
  await sleep(200)
  const pool = new Pool(origin, { connections })
  const ask = async () => (await pool.request({ method: 'GET', path: '/healthz' })).body.dump()
  await Promise.all(Array.from({ length: connections }, ask))
  const counts = processesOf({ pid }).map((one) => connectionsOf(one, Number(new URL(origin).port)))
  await pool.close()
  return Math.max(...counts) / counts.reduce((sum, one) => sum + one, 0)
}

/** The open connections of a process at a local port (Linux, proc_pid_net(5)). */
function connectionsOf(pid: number, port: number): number {
  const local = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const lines = readFileSync(`/proc/${pid}/net/tcp`, 'utf8').split('\n').slice(1)
  const inodes = lines
    .map((line) => line.trim().split(/\s+/))
    .filter(([, address = '', , state]) => address.endsWith(local) && state === '01')
    .map((fields) => `socket:[${fields[9]}]`)
  const open = new Set(readdirSync(`/proc/${pid}/fd`).map((fd) => linkOf(`/proc/${pid}/fd/${fd}`)))
  return inodes.filter((inode) => open.has(inode)).length
}

/** Null for a file that was closed meanwhile. */
function linkOf(path: string): string | null {
  try {
    return readlinkSync(path)
  } catch {
    return null
  }
}

function processesOf({ pid }: Pick<Server, 'pid'>): number[] {
  return [pid, ...childrenOf(pid)]
}
