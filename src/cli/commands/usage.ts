import { Command, InvalidArgumentError, Option } from 'commander'
import { toCount } from '../../kernel/formats/number-format.ts'
import { writeCost } from '../../kernel/formats/usd.ts'
import { isDay } from '../../kernel/formats/utc-text.ts'
import { unwrap } from '../../sdk/index.ts'
import type { SvcClient, UsageReport, UsageSums } from '../../sdk/index.ts'
import { toTeam } from '../arguments/team-options.ts'
import { actionOf } from '../command-line.ts'
import type { Cli, GlobalOptions, MakeCommand } from '../command-line.ts'
import { openDeployment } from '../deployment/deployment.ts'
import type { Output } from '../terminal/output.ts'

const GROUPINGS = ['day', 'model', 'member', 'key', 'backend', 'dialect'] as const

type Options = GlobalOptions & {
  readonly by: (typeof GROUPINGS)[number]
  readonly from?: string
  readonly to?: string
  /** True: the person's own team. */
  readonly team?: string | true
  readonly csv?: boolean
  readonly json?: boolean
}

export const makeUsage: MakeCommand = (cli) =>
  new Command('usage')
    .description('Show what your model calls used and cost, by default in this month.')
    .addOption(new Option('--by <what>', 'what each row is about').choices(GROUPINGS).default('day'))
    .option('--from <day>', 'the first day (UTC), such as 2026-11-01', toDay)
    .option('--to <day>', 'the last day (UTC)', toDay)
    .option(
      '--team [team]',
      'the calls of a whole team, for its admins: @organization/name (without a name: your own team)',
      toTeam,
    )
    .addOption(new Option('--csv', 'print a table for spreadsheets').conflicts('json'))
    .option('--json', 'print JSON')
    .action(actionOf(cli, showUsage))

function toDay(text: string): string {
  if (isDay(text)) return text
  throw new InvalidArgumentError('Give a day, such as 2026-11-01.')
}

async function showUsage(cli: Cli, options: Options): Promise<void> {
  const { output } = cli
  const { control, profile } = await openDeployment(cli, options.url)
  const team = options.team === true ? profile.team : options.team
  if (options.csv) return output.write(await unwrap(askFor(control, options, team).asCsv()))
  const report = await unwrap(askFor(control, options, team).asJson())
  if (options.json) return output.json(report)
  printReport(output, report)
}

/** The request of a report: of the team, or else of the person. */
function askFor(control: SvcClient, { by, from, to }: Options, team: string | undefined) {
  const query = { by, ...(from !== undefined && { from }), ...(to !== undefined && { to }) }
  const csv = { headers: { accept: 'text/csv' }, parseAs: 'text' } as const
  if (team === undefined) {
    return {
      asJson: () => control.GET('/v1/usage', { params: { query } }),
      asCsv: () => control.GET('/v1/usage', { params: { query }, ...csv }),
    }
  }
  const params = { path: { team }, query }
  return {
    asJson: () => control.GET('/v1/teams/{team}/usage', { params }),
    asCsv: () => control.GET('/v1/teams/{team}/usage', { params, ...csv }),
  }
}

function printReport(output: Output, { by, from, to, team, rows, total, truncated }: UsageReport): void {
  output.note(`${team}, ${from} to ${to} (UTC)`)
  if (rows.length === 0) return output.print('No calls.')
  output.table(
    [by.toUpperCase(), 'CALLS', 'INPUT', 'CACHE READ', 'CACHE WRITE', 'OUTPUT', 'COST'],
    [...rows.map((row) => [row.name ?? row.id ?? 'none', ...toCells(row)]), ['total', ...toCells(total)]],
  )
  if (truncated) output.note('The most expensive 1,000 rows are shown. The total includes all of them.')
  if (total.unknownCalls > 0) output.note(`Calls with unknown tokens, not in the cost: ${total.unknownCalls}`)
  if (total.unpricedCalls > 0) output.note(`Calls without a price, not in the cost: ${total.unpricedCalls}`)
}

function toCells(sums: UsageSums): string[] {
  const { calls, inputTokens, cacheReadTokens, cacheWriteTokens, cacheWriteLongTokens, outputTokens } = sums
  const counts = [calls, inputTokens, cacheReadTokens, cacheWriteTokens + cacheWriteLongTokens, outputTokens]
  return [...counts.map(toCount), writeCost(sums)]
}
