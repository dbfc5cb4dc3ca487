/**
 * `npm run bench` measures what a model call costs in this service, and prints a Markdown table. Linux only; use a
 * machine without other load.
 *
 *     npm run bench                              this service beside references (Express, nginx) on the same upstream
 *     npm run bench -- --against DIR             the tree in DIR and this one, in alternating runs: costs and ratios
 *     npm run bench -- --series json-1k,sse      only these series
 *     npm run bench -- --processes 2             a gateway of two processes beside one of one process
 *     npm run bench -- --rounds 15               more rounds; the default is 7
 *     npm run bench -- --help
 *
 * DIR is another checkout of this repository with its dependencies, for example a git worktree of the commit before:
 * `git worktree add ../before HEAD~1`, then `npm ci` in it, or a link to this node_modules.
 *
 * CPU time is user and system time of the server's processes, from /proc. V8 compiles code for tens of thousands of
 * calls, and drops some of it in a process without work. So each server is warmed up, and in each round the same load
 * runs once without counting before it counts. The rounds alternate between the servers. A cost is the median of the
 * rounds. A ratio is the median of the ratios of each round, with the smallest and the largest.
 */
import { existsSync } from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import {
  agentCalls,
  idleStreams,
  jsonCalls,
  logins,
  openAfterLeaving,
  slowestCalls,
  streamChunks,
  translatedRatio,
} from './measures.ts'
import { hasNginx } from './nginx.ts'
import { openProcesses, ROOT } from './processes.ts'
import type { Processes, Server } from './processes.ts'
import { canCompareProcesses, compareProcesses } from './scaling.ts'
import type { Scaling } from './scaling.ts'

const UPSTREAM_PORT = 18_701

type Series = {
  readonly name: string
  readonly title: string
  /** How often each server is measured without counting, before the first round. */
  readonly warmUps: number
  readonly measure: (server: Server) => Promise<number>
  /** What warms a server up, before the first round only; default: `measure`, and once before each measurement. */
  readonly warmUp?: (server: Server) => Promise<number>
  /** Short measurements that alternate between the servers more often; default 1. */
  readonly measuresPerRound?: number
  /** The decimals that are printed; default 0. */
  readonly digits?: number
  /** Measured once for each server, not in rounds. */
  readonly once?: true
  /** Measured at whole services, because gateways and references cannot do it. */
  readonly needsDatabase?: true
}

const SERIES: readonly Series[] = [
  jsonSeries('json-1k', '1 KB', 1_000, { calls: 3_000, warmUps: 10 }),
  jsonSeries('json-200k', '200 KB', 200_000, { calls: 400, warmUps: 4 }),
  jsonSeries('json-1m', '1 MB', 1_000_000, { calls: 100, warmUps: 2 }),
  agentSeries('agent-200k', '200 KB', 200_000, { calls: 400, warmUps: 4 }),
  agentSeries('agent-1m', '1 MB', 1_000_000, { calls: 100, warmUps: 2 }),
  {
    name: 'translated',
    title: 'Translated call, 200 KB body: times the CPU of one that passes (1.00: no translation)',
    warmUps: 3,
    digits: 2,
    measure: (server) => translatedRatio(server, 200),
  },
  {
    name: 'sse',
    title: 'SSE chunk, 100 streams at 50 per second: CPU µs per chunk',
    warmUps: 4,
    measure: (server) => streamChunks(server, 100, 3_000),
  },
  {
    name: 'p99',
    title: '99th percentile of a call at 200 calls per second: µs',
    warmUps: 5,
    warmUp: (server) => jsonCalls(server, 1_000, 3_000),
    measure: (server) => slowestCalls(server, 200, 1),
    measuresPerRound: 5,
  },
  {
    name: 'login',
    title: 'Login of a device: CPU µs, with the embedded database',
    warmUps: 3,
    measure: (server) => logins(server, 500),
    needsDatabase: true,
  },
  {
    name: 'idle',
    title: 'Open stream without traffic (of 4,000): KB',
    warmUps: 0,
    measure: (server) => idleStreams(server, 4_000),
    once: true,
  },
  leavingSeries('leave-mid-stream', 'mid-stream', 'stream'),
  leavingSeries('leave-early', 'before the first byte', 'never'),
  // The last ones, because a server that was started again has no compiled code.
  {
    name: 'start',
    title: 'Start to the first answer, with a database that exists: ms',
    warmUps: 1,
    measure: async (server) => (await server.restart()).ms,
  },
  {
    name: 'resident',
    title: 'Memory two seconds after the start: MB',
    warmUps: 0,
    measure: async (server) => (await server.restart()).residentMb,
    once: true,
  },
]

const HELP = `Usage: npm run bench [-- OPTIONS]

  --against DIR    compare this tree with the tree in DIR, in alternating runs
  --series NAMES   only these series, separated by commas: ${SERIES.map(({ name }) => name).join(', ')}
  --processes N    compare a gateway of one process with one of N (SVC_PROCESSES), in alternating runs
  --rounds N       the number of rounds; default 7
  --help           this text`

const { values: options } = parseArgs({
  options: {
    against: { type: 'string' },
    processes: { type: 'string' },
    series: { type: 'string' },
    rounds: { type: 'string', default: '7' },
    help: { type: 'boolean', default: false },
  },
})
const rounds = Number(options.rounds)
const processCount = options.processes === undefined ? null : Number(options.processes)
if (options.help) console.log(HELP)
else if (options.against !== undefined && !existsSync(path.join(options.against, 'src/cli')))
  fail(`--against: ${options.against} is not a checkout of this repository: it has no src/cli.`)
else if (!Number.isInteger(rounds) || rounds < 1) fail(`--rounds must be a whole number of at least 1.\n\n${HELP}`)
else if (processCount !== null && (!Number.isInteger(processCount) || processCount < 2))
  fail(`--processes must be a whole number of at least 2.\n\n${HELP}`)
else if (processCount !== null && !canCompareProcesses()) fail('--processes needs two cores.')
else await run(chosenSeries(options.series))

async function run(series: readonly Series[]): Promise<void> {
  const processes = openProcesses()
  try {
    processes.start('test/bench/upstream.ts', [String(UPSTREAM_PORT)])
    console.log(`Medians of ${rounds} rounds, Node ${process.version}\n`)
    if (processCount !== null) await printScaling(processes, processCount)
    else if (options.against === undefined) await compareReferences(series, processes)
    else await compareTrees(series, processes, options.against)
  } finally {
    processes.close()
  }
}

/** One column for a gateway of one process, one for a gateway of several. */
async function printScaling(processes: Processes, count: number): Promise<void> {
  const measured = await compareProcesses({ processes, count, rounds })
  const rows: readonly (readonly [string, keyof Scaling, number])[] = [
    ['JSON calls of 1 KB per second, while the cores also carry the load', 'measuredPerSecond', 0],
    ['CPU µs per call, all processes', 'micros', 0],
    ['Part of the connections at the process with the most', 'largestPart', 2],
    ['Calls per second with a core for each process', 'perSecond', 0],
  ]
  printHead(['one process', `${count} processes`, 'ratio', 'smallest and largest ratio'])
  for (const [title, name, digits] of rows) {
    const [one = [], several = []] = measured.map((ofServer) => ofServer.map((round) => round[name]))
    printRow(title, [median(one).toFixed(digits), median(several).toFixed(digits), ...ratios(one, several)])
  }
}

/** One row for each series, one column for each server. */
async function compareReferences(series: readonly Series[], processes: Processes): Promise<void> {
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
  printHead(servers.map(({ name }) => name))
  for (const one of series) {
    const measured = one.needsDatabase ? [service] : servers
    const costs = await measureInRounds(one, measured)
    const cells = costs.map((ofServer) => median(ofServer).toFixed(one.digits ?? 0))
    printRow(
      one.title,
      servers.map((_, index) => cells[index] ?? ''),
    )
  }
}

/** Two rows for each series: the whole service, and a gateway without a database. */
async function compareTrees(series: readonly Series[], processes: Processes, against: string): Promise<void> {
  const directory = path.resolve(against)
  const before = await processes.startService(18_702, UPSTREAM_PORT, directory)
  const after = await processes.startService(18_703, UPSTREAM_PORT, ROOT)
  const pairs = [
    [before, after],
    [
      await processes.startGateway(18_704, UPSTREAM_PORT, before, { tree: directory }),
      await processes.startGateway(18_705, UPSTREAM_PORT, after),
    ],
  ] as const
  printHead(['before', 'after', 'ratio', 'smallest and largest ratio'])
  for (const one of series) {
    for (const pair of one.needsDatabase ? pairs.slice(0, 1) : pairs) {
      const [old = [], young = []] = await measureInRounds(one, pair)
      printRow(`${one.title} (${pair[0].name})`, [
        median(old).toFixed(one.digits ?? 1),
        median(young).toFixed(one.digits ?? 1),
        ...ratios(old, young),
      ])
    }
  }
}

/** The median, and the smallest and largest ratio of the rounds. A cost of 0 has no ratio. */
function ratios(old: readonly number[], young: readonly number[]): readonly string[] {
  const ofRounds = young.map((cost, round) => cost / (old[round] ?? NaN))
  if (!ofRounds.every(Number.isFinite)) return ['', '']
  const [smallest, largest] = [Math.min(...ofRounds), Math.max(...ofRounds)]
  return [median(ofRounds).toFixed(3), `${smallest.toFixed(3)} to ${largest.toFixed(3)}`]
}

/**
 * The cost of each server in each round. Every second round goes through the servers backwards, so that none is always
 * the first.
 */
async function measureInRounds(series: Series, servers: readonly Server[]): Promise<number[][]> {
  const { measure, warmUp, once } = series
  for (const server of servers) for (let time = 0; time < series.warmUps; time += 1) await (warmUp ?? measure)(server)
  const costs = servers.map((): number[] => [])
  for (let round = 0; round < (once ? 1 : rounds * (series.measuresPerRound ?? 1)); round += 1) {
    const order = [...servers.entries()]
    if (round % 2 === 1) order.reverse()
    for (const [index, server] of order) {
      if (!once && !warmUp) await measure(server)
      costs[index]?.push(await measure(server))
    }
  }
  return costs
}

function jsonSeries(name: string, size: string, bytes: number, { calls, warmUps }: { calls: number; warmUps: number }) {
  const title = `JSON call, ${size} body: CPU µs per call`
  return { name, title, warmUps, measure: (server: Server) => jsonCalls(server, bytes, calls) }
}

function agentSeries(
  name: string,
  size: string,
  bytes: number,
  { calls, warmUps }: { calls: number; warmUps: number },
) {
  const title = `Call of an agent, ${size} body: CPU µs per call`
  return { name, title, warmUps, measure: (server: Server) => agentCalls(server, bytes, calls) }
}

function leavingSeries(name: string, when: string, phase: 'stream' | 'never'): Series {
  return {
    name,
    title: `Upstream calls open 1 s after 200 callers left ${when}`,
    warmUps: 0,
    measure: (server) => openAfterLeaving(server, phase, 200, UPSTREAM_PORT),
    once: true,
  }
}

function chosenSeries(names: string | undefined): readonly Series[] {
  if (names === undefined) return SERIES
  const wanted = names.split(',')
  const unknown = wanted.filter((name) => !SERIES.some((series) => series.name === name))
  if (unknown.length > 0) fail(`Unknown series: ${unknown.join(', ')}.\n\n${HELP}`)
  return SERIES.filter(({ name }) => wanted.includes(name))
}

function median(costs: readonly number[]): number {
  return costs.toSorted((a, b) => a - b)[Math.floor(costs.length / 2)] ?? NaN
}

function printHead(columns: readonly string[]): void {
  printRow('', columns)
  printRow(
    '---',
    columns.map(() => '--:'),
  )
}

/** Prints a row of a Markdown table. */
function printRow(title: string, cells: readonly string[]): void {
  console.log(`| ${[title, ...cells].join(' | ')} |`)
}

function fail(message: string): never {
  console.error(message)
  process.exit(2)
}
