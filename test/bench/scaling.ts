/**
 * Whether several processes (SVC_PROCESSES) serve several times as many calls as one. Calls per second say nothing on a
 * machine whose cores the load and the upstream take as well. So all processes of a service get one core and the load
 * another one: the service is busy all the time, and its CPU time per call is what counts. How evenly connections are
 * given to the processes is counted while they have both cores.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { Pool } from 'undici'
import { jsonCalls } from './measures.ts'
import { childrenOf } from './processes.ts'
import type { Processes, Server } from './processes.ts'

/** V8 compiles for tens of thousands of calls, in each process on its own. */
const WARM_UP_CALLS = 20_000
const CALLS = 5_000
const CALLERS = 16
const BODY_BYTES = 1_000
const [SERVICE_CORE, LOAD_CORE, BOTH_CORES] = ['0', '1', '0,1']

export type Scaling = {
  /** CPU time per call, of all processes together. */
  readonly micros: number
  /** The part of the connections that the process with the most of them has. */
  readonly largestPart: number
  /** Calls a second when each process has a core of its own and the busiest one has no time left. */
  readonly perSecond: number
}

type Given = {
  readonly processes: Processes
  readonly upstreamPort: number
  readonly upstreamPid: number
  /** How many processes are compared with one. */
  readonly count: number
  readonly rounds: number
}

/** Whether this machine has two cores, and `taskset` to choose between them. */
export function canCompareProcesses(): boolean {
  return availableParallelism() > 1 && spawnSync('taskset', ['--version']).status === 0
}

/** Measures a gateway of one process and one of several in alternating rounds. */
export async function compareProcesses(given: Given): Promise<readonly Scaling[][]> {
  const { processes, upstreamPort, upstreamPid, count, rounds } = given
  const service = await processes.startService(18_702, upstreamPort)
  const compared = [
    { count: 1, gateway: await processes.startGateway(18_703, upstreamPort, service), measured: [] as Scaling[] },
    {
      count,
      gateway: await processes.startGateway(18_704, upstreamPort, service, { count }),
      measured: [] as Scaling[],
    },
  ]
  for (const pid of [process.pid, upstreamPid]) pin(pid, LOAD_CORE)
  for (const one of compared) await warmUp(one)
  for (let round = 0; round < rounds; round += 1) {
    const order = round % 2 === 0 ? compared : compared.toReversed()
    for (const one of order) one.measured.push(await measure(one))
  }
  return compared.map(({ measured }) => measured)
}

type Compared = { readonly gateway: Server; readonly count: number }

/** In parts, because a process that starts later gets none of the connections that are open. */
async function warmUp({ gateway, count }: Compared): Promise<void> {
  for (let calls = 0; calls < count * WARM_UP_CALLS; calls += CALLS) {
    await jsonCalls(gateway, BODY_BYTES, CALLS, count * CALLERS)
  }
}

async function measure({ gateway, count }: Compared): Promise<Scaling> {
  for (const pid of processesOf(gateway)) pin(pid, SERVICE_CORE)
  const micros = await jsonCalls(gateway, BODY_BYTES, count * CALLS, count * CALLERS)
  for (const pid of processesOf(gateway)) pin(pid, BOTH_CORES)
  const largestPart = await largestPartOfConnections(gateway, count * CALLERS)
  return { micros, largestPart, perSecond: 1e6 / (micros * largestPart) }
}

/** Opens connections at once and counts how many each process has. */
async function largestPartOfConnections({ origin, pid }: Server, connections: number): Promise<number> {
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

/** Lets all threads of a process run on these cores only. */
function pin(pid: number, cores: string): void {
  execFileSync('taskset', ['-a', '-c', '-p', cores, String(pid)])
}
