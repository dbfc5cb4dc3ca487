import { Argument, Command } from 'commander'
import { systemClock } from '../../kernel/clock.ts'
import { DAY_MS } from '../../kernel/durations.ts'
import { unwrap } from '../../sdk/index.ts'
import type { Role, TeamMember } from '../../sdk/index.ts'
import { openTeam, withTeamOptions } from '../arguments/team-options.ts'
import type { TeamOptions } from '../arguments/team-options.ts'
import { actionOf } from '../command-line.ts'
import type { Cli, MakeCommand } from '../command-line.ts'
import type { Deployment } from '../deployment/deployment.ts'
import { readPages } from '../deployment/pages.ts'
import { CommandError } from '../failures.ts'
import { withSameTarget } from '../same-target.ts'
import { toLocalTime } from '../terminal/local-time.ts'

export const makeMembers: MakeCommand = (cli) =>
  withTeamOptions(new Command('members'))
    .description('List who may sign in to a team.')
    .action(actionOf(cli, listMembers))
    .addCommand(
      new Command('role')
        .description('Give a member another role.')
        .argument('<email>', 'the email address of the member')
        .addArgument(new Argument('<role>', 'what they may do').choices(['member', 'admin']))
        .action(actionOf(cli, changeRole)),
    )
    .addCommand(
      new Command('remove')
        .description(
          'Remove a member. Their devices are signed out of the team, and their API keys for it stop working.',
        )
        .argument('<email>', 'the email address of the member')
        .action(actionOf(cli, removeMember)),
    )

async function listMembers(cli: Cli, options: TeamOptions): Promise<void> {
  const { output } = cli
  const { control, team } = await openTeam(cli, options)
  const members = await findMembers(control, team)
  if (options.json) return output.json(members)
  output.table(
    ['EMAIL', 'ROLE', 'INVITED', 'BY', 'DEVICES', 'LAST SEEN'],
    members.map(({ email, role, invitedAt, source, devices, lastSeenAt }) => [
      email,
      role,
      toLocalTime(invitedAt),
      source === 'file' ? 'directory file' : 'admin',
      String(devices),
      lastSeenAt === null ? notSeen(invitedAt) : toLocalTime(lastSeenAt),
    ]),
  )
}

/** What the list says of a member who was not seen in the last 30 days. */
function notSeen(invitedAt: string): string {
  return Date.parse(invitedAt) > systemClock.now().getTime() - 30 * DAY_MS ? 'not yet' : 'not in 30 days'
}

async function findMembers(control: Deployment['control'], team: string): Promise<TeamMember[]> {
  const pages = readPages((after) =>
    unwrap(control.GET('/v1/teams/{team}/members', { params: { path: { team }, query: { ...(after && { after }) } } })),
  )
  const members: TeamMember[] = []
  for await (const page of pages) members.push(...page.members)
  return members
}

/** The member with an address, and its team. Throws when the team has none. */
async function findMember(cli: Cli, email: string, options: TeamOptions) {
  const { control, team } = await openTeam(cli, options)
  const members = await findMembers(control, team)
  const member = members.find((each) => each.email === email.trim().toLowerCase())
  if (!member)
    throw new CommandError(`${email} is not a member of ${team}. Run: ${withSameTarget('svc members', options)}`)
  return { control, team, member }
}

async function changeRole(cli: Cli, email: string, role: Role, options: TeamOptions): Promise<void> {
  const { control, team, member } = await findMember(cli, email, options)
  const params = { path: { team, id: member.id } }
  const changed = await unwrap(control.PATCH('/v1/teams/{team}/members/{id}', { params, body: { role } }))
  if (options.json) return cli.output.json(changed)
  cli.output.print(`${changed.email} is ${changed.role} of ${team} now.`)
}

async function removeMember(cli: Cli, email: string, options: TeamOptions): Promise<void> {
  const { control, team, member } = await findMember(cli, email, options)
  const params = { path: { team, id: member.id } }
  const done = await unwrap(control.DELETE('/v1/teams/{team}/members/{id}', { params }))
  if (options.json) return cli.output.json(done)
  cli.output.print(
    `${member.email} is no longer a member of ${team}. Their devices and API keys of the team have ended.`,
  )
}
