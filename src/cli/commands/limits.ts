import { Command, InvalidArgumentError, Option } from 'commander'
import { MAX_USD, readUsd, writeDollars } from '../../kernel/formats/usd.ts'
import { SvcError, unwrap } from '../../sdk/index.ts'
import type { CreateSpendingLimit, SpendingLimit, SvcClient } from '../../sdk/index.ts'
import { findById, ID_HELP } from '../arguments/find-by-id.ts'
import { toTeam } from '../arguments/team-options.ts'
import { actionOf } from '../command-line.ts'
import type { Cli, GlobalOptions, MakeCommand } from '../command-line.ts'
import { openDeployment, openGateway } from '../deployment/deployment.ts'
import type { Deployment } from '../deployment/deployment.ts'
import { findGatewayWithoutDatabase } from '../deployment/gateway-database.ts'
import { CommandError } from '../failures.ts'
import { withSameTarget } from '../same-target.ts'
import { toLocalTime } from '../terminal/local-time.ts'

type Wanted = Pick<CreateSpendingLimit, 'subject' | 'of'>

const PERIODS = ['day', 'week', 'month'] as const

/** `team`: true is the person's own team. */
type Options = GlobalOptions & { readonly team?: string | true; readonly json?: boolean }
type SetOptions = Options & {
  readonly per: (typeof PERIODS)[number]
  readonly members?: boolean
  readonly member?: string
  readonly key?: string
  readonly service?: string
}

export const makeLimits: MakeCommand = (cli) =>
  new Command('limits')
    .description('Show your spending limits, and what is left of them.')
    // Also in the help of the subcommands.
    .option(
      '--team [team]',
      'limits of a team, for its admins: @organization/name (without a name: your own team)',
      toTeam,
    )
    .option('--json', 'print JSON')
    .action(actionOf(cli, listLimits))
    .addCommand(
      new Command('set')
        .description(
          'Set what a team may spend, or with an option, one of its members, keys or service accounts. For admins.',
        )
        .argument('<amount>', 'in USD, such as 50 or 2.50', toNanoUsd)
        .addOption(
          new Option('--per <period>', 'the period after which it resets; required')
            .choices(PERIODS)
            .makeOptionMandatory(),
        )
        .addOption(new Option('--members', 'for each member by itself').conflicts(['member', 'key', 'service']))
        .addOption(new Option('--member <email>', 'for one member').conflicts(['key', 'service']))
        .addOption(new Option('--key <id>', 'for one API key').conflicts(['service']))
        .option('--service <name>', 'for one service account')
        .action(actionOf(cli, setLimit)),
    )
    .addCommand(
      new Command('remove')
        .description('Remove a spending limit. For admins of the team.')
        .argument('<id>', ID_HELP)
        .action(actionOf(cli, removeLimit)),
    )

function toNanoUsd(text: string): number {
  const nano = readUsd(text)
  if (nano === null)
    throw new InvalidArgumentError(`Give an amount in USD above 0 and up to ${MAX_USD}, such as 50 or 2.50.`)
  return nano
}

async function listLimits(cli: Cli, { url, team, json }: Options): Promise<void> {
  const { output } = cli
  const deployment = await openDeployment(cli, url)
  const limits =
    team === undefined
      ? await findOwnLimits(await openGateway(deployment))
      : await findLimits(deployment.control, teamOf({ team }, deployment.profile.team))
  if (json) return output.json(limits)
  if (limits.length === 0) return output.print('No spending limits.')
  output.table(
    ['ID', 'FOR', 'PER', 'LIMIT', 'SPENT', 'LEFT', 'RESETS'],
    limits.map((limit) => [
      limit.id,
      nameOf(limit),
      limit.period,
      writeDollars(limit.amountNanoUsd),
      writeDollars(limit.spentNanoUsd),
      writeDollars(limit.remainingNanoUsd),
      toLocalTime(limit.resetsAt),
    ]),
  )
}

async function findOwnLimits(gateway: SvcClient): Promise<SpendingLimit[]> {
  return (await unwrap(gateway.GET('/v1/limits'))).limits
}

async function findLimits(control: Deployment['control'], team: string): Promise<SpendingLimit[]> {
  return (await unwrap(control.GET('/v1/teams/{team}/limits', { params: { path: { team } } }))).limits
}

function nameOf({ subject, subjectName, team }: SpendingLimit): string {
  if (subject === 'team') return team
  return subject === 'members' ? 'each member' : (subjectName ?? subject)
}

/** Changes the limit of the same subject and period where there is one. */
async function setLimit(cli: Cli, amountNanoUsd: number, options: SetOptions): Promise<void> {
  const { output } = cli
  const deployment = await openDeployment(cli, options.url)
  const { control, profile } = deployment
  const team = teamOf(options, profile.team)
  const wanted = { ...toSubject(options), period: options.per }
  const limits = await findLimits(control, team)
  const found = limits.find((limit) => isMeant(limit, wanted))
  const saved = found
    ? control.PATCH('/v1/teams/{team}/limits/{limitId}', {
        params: { path: { team, limitId: found.id } },
        body: { amountNanoUsd },
      })
    : control.POST('/v1/teams/{team}/limits', { params: { path: { team } }, body: { ...wanted, amountNanoUsd } })
  const limit: SpendingLimit = await unwrap<SpendingLimit>(saved).catch((error: unknown) => {
    throw wanted.of !== undefined && isRefusedRequest(error) ? new CommandError(explainSubject(team, options)) : error
  })
  if (options.json) output.json(limit)
  else output.print(`Now ${nameOf(limit)} may spend ${writeDollars(limit.amountNanoUsd)} a ${limit.period}.`)
  const gatewayUrl = await findGatewayWithoutDatabase(deployment)
  if (gatewayUrl !== null) output.note(`The gateway at ${gatewayUrl} has no database, so it does not apply the limit.`)
}

function toSubject({ members, member, key, service }: SetOptions): Wanted {
  if (members) return { subject: 'members' }
  if (member !== undefined) return { subject: 'member', of: member }
  if (key !== undefined) return { subject: 'key', of: key }
  return service === undefined ? { subject: 'team' } : { subject: 'service_account', of: service }
}

/** The amount and the period were checked before the request, so what is refused is the subject. */
function isRefusedRequest(error: unknown): boolean {
  return error instanceof SvcError && error.code === 'invalid_request'
}

function explainSubject(team: string, options: SetOptions): string {
  const { member, key, service } = options
  if (member !== undefined) return `${team} has no member ${member}. Run: ${withSameTarget('svc members', options)}`
  if (key !== undefined) {
    const list = withSameTarget('svc keys', { url: options.url })
    return `${team} has no API key with the ID ${key}. Give the whole ID, which its owner finds with: ${list}`
  }
  const list = withSameTarget('svc service-accounts', options)
  return `${team} has no service account named ${service ?? ''}. Run: ${list}`
}

function isMeant(
  { subjectId, subjectName, ...limit }: SpendingLimit,
  { subject, of, period }: Wanted & { period: string },
) {
  const isSame = limit.subject === subject && limit.period === period
  // Several keys can have one name.
  const names = subject === 'key' ? [subjectId] : [subjectId, subjectName]
  return isSame && (of === undefined || names.includes(of.trim().toLowerCase()))
}

async function removeLimit(cli: Cli, start: string, options: Options): Promise<void> {
  const { output } = cli
  const { control, profile } = await openDeployment(cli, options.url)
  const team = teamOf(options, profile.team)
  const limits = await findLimits(control, team)
  const limit = findById(limits, start, { plural: 'limits' })
  if (!limit) {
    const list = withSameTarget(typeof options.team === 'string' ? 'svc limits' : 'svc limits --team', options)
    throw new CommandError(`${team} has no limit with the ID "${start}". Run: ${list}`)
  }
  const params = { path: { team, limitId: limit.id } }
  const done = await unwrap(control.DELETE('/v1/teams/{team}/limits/{limitId}', { params }))
  if (options.json) return output.json(done)
  output.print(`Removed: the limit of ${writeDollars(limit.amountNanoUsd)} a ${limit.period} for ${nameOf(limit)}.`)
}

function teamOf({ team }: Options, own: string): string {
  return team === undefined || team === true ? own : team
}
