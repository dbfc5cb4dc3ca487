/**
 * Whether several processes (SVC_PROCESSES) serve several times as many calls as one. The load and its upstream need
 * cores too, so calls per second on the machine that runs them say nothing. Instead, the CPU time of each process is
 * measured: with a core of its own for each, the busiest process says how many calls all of them serve.
 */
import { jsonCallsByProcess } from './measures.ts'
import type { Processes, Server } from './processes.ts'

/** V8 compiles for tens of thousands of calls, in each process on its own. */
const WARM_UP_CALLS_PER_PROCESS = 20_000
const CALLS = 5_000

export type Scaling = {
  /** CPU time per call, of all processes together. */
  readonly micros: number
  /** The part of the CPU time that the busiest process has. */
  readonly largestShare: number
  /** Calls a second, when each process has a core. */
  readonly perSecond: number
}

type Given = {
  readonly processes: Processes
  readonly upstreamPort: number
  /** How many processes are compared with one. */
  readonly count: number
  readonly rounds: number
}

/** Measures a gateway of one process and one of several in alternating rounds. */
export async function compareProcesses({ processes, upstreamPort, count, rounds }: Given): Promise<Scaling[][]> {
  const service = await processes.startService(18_702, upstreamPort)
  const counts = [1, count]
  const gateways = [
    await processes.startGateway(18_703, upstreamPort, service),
    await processes.startGateway(18_704, upstreamPort, service, { count }),
  ]
  for (const [index, gateway] of gateways.entries()) await warmUp(gateway, counts[index] ?? 1)
  const measured: Scaling[][] = [[], []]
  for (let round = 0; round < rounds; round += 1) {
    const order = [...gateways.entries()]
    if (round % 2 === 1) order.reverse()
    for (const [index, gateway] of order) measured[index]?.push(await measure(gateway))
  }
  return measured
}

/** Each time over new connections, because processes that start later get none of those that are open. */
async function warmUp(gateway: Server, count: number): Promise<void> {
  for (let calls = 0; calls < count * WARM_UP_CALLS_PER_PROCESS; calls += CALLS)
    await jsonCallsByProcess(gateway, CALLS)
}

async function measure(gateway: Server): Promise<Scaling> {
  const micros = await jsonCallsByProcess(gateway, CALLS)
  const [all, busiest] = [micros.reduce((sum, one) => sum + one, 0), Math.max(...micros)]
  return { micros: all, largestShare: busiest / all, perSecond: 1e6 / busiest }
}
