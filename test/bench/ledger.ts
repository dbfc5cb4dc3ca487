/**
 * `npm run ledger` makes scripted calls (`--calls N`, default 10,000) at two gateways with one Postgres, in three
 * dialects to backends of three dialects: whole, streamed, broken off by the backend or by the caller, with cached
 * tokens, and with backends that fail before another one answers. Meanwhile gateways are killed, and the database is
 * frozen and killed. The second gateway has a spool.
 *
 * A sheet has what the backends have answered. The script exits with status 1 unless:
 *
 * - each event that was saved equals its line of the sheet, with its cost, and no event is there twice;
 * - the reports of the team equal the sums of these lines, by every grouping;
 * - only events that docs/operating.md allows to be lost are missing.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { newFolder } from '../support/process.ts'
import { startScriptedDeployment } from '../support/scripted/scripted-deployment.ts'
import { FORMS } from '../support/scripted/scripted-calls.ts'
import type { SheetLine } from '../support/scripted/scripted-calls.ts'
import { addUp, compareLines, findSavedLines } from '../support/scripted/usage-sheet.ts'
import type { Comparison } from '../support/scripted/usage-sheet.ts'
import { readCountOption } from './count-option.ts'

const CALLS = readCountOption('ledger', 'calls', 10_000)
/** Slow enough that the calls of a phase go on while something is broken. */
const CALLS_PER_SECOND = 100
const CALLERS = 32
const OUTAGE_MS = 5_000
/** Until the events of a phase are there, or given up. */
const MAX_SAVING_MS = 30_000
/** How often a gateway saves events, and the time that this may take. */
const SAVED_AFTER_MS = 1_000
/** Until a gateway knows that the database is unavailable, and its events are in the spool. */
const SPOOLED_AFTER_MS = 3_000

const [WITHOUT_SPOOL, WITH_SPOOL] = [0, 1] as const

/** What a gateway logs when it gives events up. */
const ALARMS = [
  'call_events.dropped',
  'call_events.refused',
  'call_events.spool_failed',
  'call_events.spool_unreadable',
]

/** What a phase may lose: calls of this gateway that ended after `since`. `at`: when it was killed. */
type Loss = { readonly gateway: number; readonly since: number; readonly at: number }

type Phase = { readonly name: string; readonly breaks: () => Promise<Loss | null> }

await using spool = await newFolder()
await using scripted = await startScriptedDeployment([{ SVC_SPOOL_DIR: '' }, { SVC_SPOOL_DIR: spool.path }])
const { deployment, lines } = scripted
const { postgres } = deployment

const PHASES: readonly Phase[] = [
  { name: 'nothing breaks', breaks: async () => null },
  { name: 'kill -9 of a gateway', breaks: () => killGateway(WITHOUT_SPOOL) },
  { name: 'database frozen', breaks: whileFrozen },
  { name: 'database killed', breaks: () => whileKilled(null) },
  { name: 'the same, and kill -9 without a spool', breaks: () => whileKilled({ gateway: WITHOUT_SPOOL, by: 'kill' }) },
  { name: 'the same, and kill -9 with a spool', breaks: () => whileKilled({ gateway: WITH_SPOOL, by: 'kill' }) },
  { name: 'the same, and SIGTERM with a spool', breaks: () => whileKilled({ gateway: WITH_SPOOL, by: 'stop' }) },
  { name: 'SIGTERM of both gateways', breaks: restartBoth },
]

/** Which gateway took a call, and when the call ended. */
const ended = new Map<number, { readonly gateway: number; readonly at: number }>()
const down = new Set<number>()
const failures: string[] = []
let made = 0
let known: ReadonlySet<SheetLine> = new Set()

const COLUMNS = ['calls', 'events saved', 'events lost', 'oldest lost, s', 'may be lost, s']
console.log(''.padEnd(36) + COLUMNS.map((column) => column.padStart(16)).join(''))
for (const [at, phase] of PHASES.entries()) await runPhase(phase, Math.round((CALLS * (at + 1)) / PHASES.length))
await judgeReports()
for (const failure of failures) console.error(`FAILED: ${failure}`)
if (failures.length === 0) console.log('PASSED: every saved call equals the sheet, and so do the reports.')
process.exitCode = failures.length > 0 ? 1 : 0

/** Makes calls until this many are made, while something breaks. */
async function runPhase({ name, breaks }: Phase, until: number): Promise<void> {
  const first = made
  const calls = makeCalls(until)
  await sleep(1_000)
  const [loss] = await Promise.all([breaks(), calls])
  const mayBeLost = (line: SheetLine) => loss !== null && isLost(line, loss)
  const isSaved = ({ missing }: Comparison) => missing.every((line) => known.has(line) || mayBeLost(line))
  const { saved, missing, unexpected } = await compareUntil(isSaved)
  const lost = missing.filter((line) => !known.has(line))
  known = new Set(missing)
  const forbidden = lost.filter((line) => !mayBeLost(line))
  printPhase({ name, calls: made - first, saved: saved.length, lost, loss })
  expect(forbidden.length === 0, `${name}: ${forbidden.length} events are missing, such as ${describe(forbidden[0])}`)
  expect(unexpected.length === 0, `${name}: ${unexpected.length} events are not on the sheet: ${unexpected[0]}`)
}

async function makeCalls(until: number): Promise<void> {
  const [first, startedAt] = [made, performance.now()]
  const caller = async (): Promise<void> => {
    while (made < until) {
      const number = made++
      await sleep(Math.max(0, startedAt + ((number - first) * 1000) / CALLS_PER_SECOND - performance.now()))
      await makeCall(number)
    }
  }
  await Promise.all(Array.from({ length: CALLERS }, caller))
}

/** Alternates between the two gateways. While one is down, the other one gets all calls. */
async function makeCall(number: number): Promise<void> {
  const preferred = (Math.floor(number / 3) + Math.floor(number / FORMS)) % 2
  for (const gateway of [preferred, 1 - preferred]) {
    if (down.has(gateway)) continue
    if (await scripted.makeCall(number, gateway)) return void ended.set(number, { gateway, at: performance.now() })
  }
}

function isLost({ call }: SheetLine, { gateway, since }: Loss): boolean {
  const end = ended.get(call.number)
  return end?.gateway === gateway && end.at >= since
}

async function compareUntil(isReached: (found: Comparison) => boolean): Promise<Comparison> {
  const givenUpAt = performance.now() + MAX_SAVING_MS
  for (;;) {
    const found = compareLines(lines, await findSavedLines(deployment.databaseUrl))
    if (isReached(found) || performance.now() > givenUpAt) return found
    await sleep(250)
  }
}

/** The other gateway takes all calls until this one has started again. */
async function killGateway(gateway: number): Promise<Loss> {
  const killedAt = performance.now()
  await endGateway(gateway, 'kill')
  await startGateways()
  return { gateway, since: killedAt - SAVED_AFTER_MS, at: killedAt }
}

async function whileFrozen(): Promise<null> {
  await postgres.freeze()
  await sleep(OUTAGE_MS)
  postgres.thaw()
  return null
}

/** Ends a gateway while the database is unavailable. */
async function whileKilled(
  end: { readonly gateway: number; readonly by: 'kill' | 'stop' } | null,
): Promise<Loss | null> {
  const awayAt = performance.now()
  await postgres.kill()
  await sleep(OUTAGE_MS)
  const endedAt = performance.now()
  if (end) await endGateway(end.gateway, end.by)
  await postgres.restart()
  await startGateways()
  if (end?.by !== 'kill') return null
  const { gateway } = end
  const since = gateway === WITH_SPOOL ? endedAt - SPOOLED_AFTER_MS : awayAt - SAVED_AFTER_MS
  return { gateway, since, at: endedAt }
}

async function restartBoth(): Promise<null> {
  for (const gateway of [WITHOUT_SPOOL, WITH_SPOOL]) {
    await endGateway(gateway, 'stop')
    await startGateways()
  }
  return null
}

async function endGateway(gateway: number, by: 'kill' | 'stop'): Promise<void> {
  down.add(gateway)
  const ended = await deployment.gateways[gateway]?.process[by]()
  for (const event of ALARMS) expect(!ended?.stdout.includes(`"${event}"`), `A gateway has logged ${event}.`)
}

async function startGateways(): Promise<void> {
  for (const gateway of down) {
    await deployment.gateways[gateway]?.start()
    down.delete(gateway)
  }
}

async function judgeReports(): Promise<void> {
  const { saved } = compareLines(lines, await findSavedLines(deployment.databaseUrl))
  const differences = await scripted.compareReports(saved)
  for (const difference of differences) expect(false, difference)
  const sums = Object.entries(addUp(saved)).map(([name, sum]) => `${name} ${sum}`)
  console.log(`\nThe sheet has ${lines.length} lines. Sums of the saved ones: ${sums.join(', ')}.`)
}

type Report = {
  readonly name: string
  readonly calls: number
  readonly saved: number
  readonly lost: readonly SheetLine[]
  readonly loss: Loss | null
}

function printPhase({ name, calls, saved, lost, loss }: Report): void {
  const seconds = (from: number) => (((loss?.at ?? 0) - from) / 1000).toFixed(1)
  const oldest = Math.min(...lost.map(({ call }) => ended.get(call.number)?.at ?? Infinity))
  const cells = [calls, saved, lost.length, lost.length ? seconds(oldest) : '', loss ? seconds(loss.since) : '']
  console.log(name.padEnd(36) + cells.map((cell) => String(cell).padStart(16)).join(''))
}

function describe(line: SheetLine | undefined): string {
  return line ? `call ${line.call.number} of ${line.backend} (${line.call.shape}, ${line.kind})` : ''
}

function expect(holds: boolean, failure: string): void {
  if (!holds) failures.push(failure)
}
