/** How many devices one service and its Postgres server sign in, and what a login costs them. */
import { startPostgres } from '../support/postgres.ts'
import { cpuMicros, makeLogin, runAll } from './measures.ts'
import type { Processes, Server } from './processes.ts'
import { measureInRounds } from './rounds.ts'
import { UPSTREAM_PORT } from './series.ts'

const LOGINS_A_ROUND = 1_000
/** V8 compiles for some thousand logins, in each process on its own. */
const WARM_UPS = 4
const CALLERS_A_PROCESS = 16

export type LoginCosts = {
  /** Logins a second, on cores that also carry the Postgres server and the devices. */
  readonly perSecond: number
  /** CPU time of a login in microseconds. */
  readonly serviceMicros: number
  readonly postgresMicros: number
}

type Given = {
  readonly processes: Processes
  readonly rounds: number
  /** The services that are compared: the tree of each, and how many processes it has. */
  readonly services: readonly { readonly tree: string; readonly count: number }[]
}

/** Measures services with databases of one Postgres server in alternating rounds. */
export async function compareLogins({ processes, services, rounds }: Given): Promise<readonly LoginCosts[][]> {
  await using postgres = await startPostgres()
  const compared: Compared[] = []
  for (const [index, { tree, count }] of services.entries()) {
    const database = await postgres.newDatabase()
    const more = { SVC_DATABASE_URL: database.reveal(), SVC_PROCESSES: String(count) }
    const server = await processes.startService(18_702 + index, UPSTREAM_PORT, tree, more)
    compared.push({ server, callers: count * CALLERS_A_PROCESS })
  }
  for (const one of compared) for (let time = 0; time < WARM_UPS; time += 1) await signIn(one)
  return await measureInRounds(compared, rounds, (one) => measure(one, postgres.pid()))
}

type Compared = { readonly server: Server; readonly callers: number }

async function measure(one: Compared, postgres: number): Promise<LoginCosts> {
  const [service, server, startedAt] = [cpuMicros(one.server.pid), cpuMicros(postgres), performance.now()]
  await signIn(one)
  const seconds = (performance.now() - startedAt) / 1000
  return {
    perSecond: LOGINS_A_ROUND / seconds,
    serviceMicros: (cpuMicros(one.server.pid) - service) / LOGINS_A_ROUND,
    postgresMicros: (cpuMicros(postgres) - server) / LOGINS_A_ROUND,
  }
}

function signIn({ server, callers }: Compared): Promise<void> {
  return runAll(server, LOGINS_A_ROUND, callers, makeLogin(server))
}
