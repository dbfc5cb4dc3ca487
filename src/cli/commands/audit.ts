import { Command, InvalidArgumentError } from 'commander'
import { writeAuditDetails } from '../../kernel/formats/audit-details.ts'
import { isDay } from '../../kernel/formats/utc-text.ts'
import { unwrap } from '../../sdk/index.ts'
import type { AuditEvent } from '../../sdk/index.ts'
import { openTeam, withTeamOptions } from '../arguments/team-options.ts'
import type { TeamOptions } from '../arguments/team-options.ts'
import { makeToNumber } from '../arguments/whole-number.ts'
import { actionOf } from '../command-line.ts'
import type { Cli, MakeCommand } from '../command-line.ts'
import { readPages } from '../deployment/pages.ts'
import { withSameTarget } from '../same-target.ts'
import { toLocalTime } from '../terminal/local-time.ts'

type Options = TeamOptions & {
  readonly by?: string
  readonly action?: string
  readonly from?: string
  readonly to?: string
  readonly count: number
}

/** The longest page of the API. */
const MAX_PAGE = 500

export const makeAudit: MakeCommand = (cli) =>
  withTeamOptions(new Command('audit'))
    .description('Show who changed what in a team, newest first.')
    .option('--by <who>', 'only changes by this person (email address), or by the directory file (file)', toActor)
    .option(
      '--action <action>',
      'only this action, such as invitation.created, or all of one kind: invitation',
      toAction,
    )
    .option('--from <time>', 'only since this day or time, such as 2026-11-21', toTime)
    .option('--to <time>', 'only before this day or time', toTime)
    .option('--count <number>', 'the maximum number of changes', makeToNumber(999_999), 100)
    .action(actionOf(cli, showAudit))

function toActor(text: string): string {
  if (text === 'file' || text.includes('@')) return text
  throw new InvalidArgumentError('Give an email address, or "file" for the directory file.')
}

/** A day begins at midnight of this machine's time zone. */
function toTime(text: string): string {
  const [day = null] = /^\d{4}-\d{2}-\d{2}/.exec(text) ?? []
  const time = new Date(text === day ? `${text}T00:00:00` : text)
  if (Number.isNaN(time.getTime()) || (day !== null && !isDay(day)))
    throw new InvalidArgumentError('Give a day, such as 2026-11-21, or a time.')
  return time.toISOString()
}

function toAction(text: string): string {
  if (/^[a-z_]+(\.[a-z_]+)?$/.test(text)) return text
  throw new InvalidArgumentError('Give an action such as invitation.created, or a kind of actions such as invitation.')
}

async function showAudit(cli: Cli, options: Options): Promise<void> {
  const { output } = cli
  const events = await findEvents(cli, options)
  if (options.json) return output.json(events)
  if (events.length === 0) return output.print(noEvents(options))
  output.table(
    ['TIME', 'ACTION', 'WHO', 'WHAT', 'FROM', 'DETAILS'],
    events.map((event) => [
      toLocalTime(event.at),
      event.action,
      authorOf(event),
      event.subject ?? '',
      event.ip ?? '',
      writeAuditDetails(event),
    ]),
  )
}

function authorOf({ actor }: AuditEvent): string {
  return actor.email ?? (actor.kind === 'file' ? 'directory file' : (actor.id ?? ''))
}

function noEvents(options: Options): string {
  const { action } = options
  if (action === undefined) return 'No changes were found.'
  const list = withSameTarget('svc audit', options)
  return `No changes with the action "${action}" were found. To see all actions, run: ${list}`
}

async function findEvents(cli: Cli, options: Options): Promise<AuditEvent[]> {
  const { by: actor, action, from, to, count } = options
  const { control, team } = await openTeam(cli, options)
  const filters = { ...(actor && { actor }), ...(action && { action }), ...(from && { from }), ...(to && { to }) }
  const events: AuditEvent[] = []
  const pages = readPages((before) => {
    const limit = Math.min(MAX_PAGE, count - events.length)
    const query = { ...filters, limit, ...(before && { before }) }
    return unwrap(control.GET('/v1/teams/{team}/audit', { params: { path: { team }, query } }))
  })
  for await (const page of pages) {
    events.push(...page.events)
    if (events.length >= count) break
  }
  return events
}
