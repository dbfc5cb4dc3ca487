/**
 * `npm run bench` measures what a model call costs in this service, and prints a Markdown table. Linux only; use a
 * machine without other load.
 *
 *     npm run bench                              this service beside references (Express, nginx) on the same upstream
 *     npm run bench -- --against DIR             the tree in DIR and this one, in alternating runs: costs and ratios
 *     npm run bench -- --series json-1k,sse      only these series
 *     npm run bench -- --processes 2             a gateway of two processes beside one of one process
 *     npm run bench -- --logins                  logins with a Postgres server, by one process and by two
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
import { compareLogins } from './logins.ts'
import type { LoginCosts } from './logins.ts'
import { hasNginx } from './nginx.ts'
import { openProcesses, ROOT } from './processes.ts'
import type { Processes, Server } from './processes.ts'
import { measureInRounds } from './rounds.ts'
import { canCompareProcesses, compareProcesses } from './scaling.ts'
import type { Scaling } from './scaling.ts'
import { SERIES, UPSTREAM_PORT } from './series.ts'
import type { Series } from './series.ts'

/** The columns of a comparison of two servers. */
const RATIO = ['ratio', 'smallest and largest ratio'] as const

const HELP = `Usage: npm run bench [-- OPTIONS]

  --against DIR    compare this tree with the tree in DIR, in alternating runs
  --series NAMES   only these series, separated by commas: ${SERIES.map(({ name }) => name).join(', ')}
  --processes N    compare a gateway of one process with one of N (SVC_PROCESSES), in alternating runs
  --logins         logins with a Postgres server, by one process and by two; with --against, by one process of each tree
  --rounds N       the number of rounds; default 7
  --help           this text`

const options = readOptions()
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

function readOptions() {
  try {
    return parseArgs({
      options: {
        against: { type: 'string' },
        processes: { type: 'string' },
        logins: { type: 'boolean', default: false },
        series: { type: 'string' },
        rounds: { type: 'string', default: '7' },
        help: { type: 'boolean', default: false },
      },
    }).values
  } catch (error) {
    fail(`${error instanceof Error ? error.message : String(error)}\n\n${HELP}`)
  }
}

async function run(series: readonly Series[]): Promise<void> {
  const processes = openProcesses()
  try {
    processes.start('test/bench/upstream.ts', [String(UPSTREAM_PORT)])
    console.log(`Medians of ${rounds} rounds, Node ${process.version}\n`)
    if (processCount !== null) await printScaling(processes, processCount)
    else if (options.logins) await printLogins(processes, options.against)
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
  printHead(['one process', `${count} processes`, ...RATIO])
  for (const [title, name, digits] of rows) {
    const [one = [], several = []] = measured.map((ofServer) => ofServer.map((round) => round[name]))
    printRow(title, [median(one).toFixed(digits), median(several).toFixed(digits), ...ratios(one, several)])
  }
}

/** One column for one process and one for two, or one for each tree. */
async function printLogins(processes: Processes, against: string | undefined): Promise<void> {
  const other = against === undefined ? { tree: ROOT, count: 2 } : { tree: path.resolve(against), count: 1 }
  const one = { tree: ROOT, count: 1 }
  const services = against === undefined ? [one, other] : [other, one]
  const measured = await compareLogins({ processes, services, rounds })
  const rows: readonly (readonly [string, keyof LoginCosts])[] = [
    ['Logins per second, while the cores also carry Postgres and the devices', 'perSecond'],
    ['Login: CPU µs of the service', 'serviceMicros'],
    ['Login: CPU µs of the Postgres server', 'postgresMicros'],
  ]
  printHead([...(against === undefined ? ['one process', 'two processes'] : ['before', 'after']), ...RATIO])
  for (const [title, name] of rows) {
    const [first = [], second = []] = measured.map((ofServer) => ofServer.map((round) => round[name]))
    printRow(title, [median(first).toFixed(0), median(second).toFixed(0), ...ratios(first, second)])
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
    const costs = await measureSeries(one, measured)
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
  printHead(['before', 'after', ...RATIO])
  for (const one of series) {
    for (const pair of one.needsDatabase ? pairs.slice(0, 1) : pairs) {
      const [old = [], young = []] = await measureSeries(one, pair)
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

/** The cost of each server in each round of a series. */
async function measureSeries(series: Series, servers: readonly Server[]): Promise<number[][]> {
  const { measure, warmUp, once } = series
  for (const server of servers) for (let time = 0; time < series.warmUps; time += 1) await (warmUp ?? measure)(server)
  return measureInRounds(servers, once ? 1 : rounds * (series.measuresPerRound ?? 1), async (server) => {
    if (!once && !warmUp) await measure(server)
    return measure(server)
  })
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
