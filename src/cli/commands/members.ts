import { Argument, Command } from 'commander'
import type { Cli, GlobalOptions, MakeCommand } from '../command-line.ts'
import { openDeployment } from '../deployment.ts'
import type { Deployment } from '../deployment.ts'
import { CommandError } from '../failures.ts'
import { toLocalTime } from '../local-time.ts'
import { unwrap } from '../../sdk/index.ts'
import type { components, Role } from '../../sdk/index.ts'

type Options = GlobalOptions & { readonly team?: string; readonly json?: boolean }
type Member = components['schemas']['TeamMember']

export const makeMembers: MakeCommand = (cli) =>
  new Command('members')
    .description('List who may sign in to a team.')
    .helpGroup('For admins of a team:')
    .option('--team <team>', '@organization/name; your own team unless given')
    .option('--json', 'print JSON')
    .action((_options: object, command: Command) => listMembers(cli, command.optsWithGlobals<Options>()))
    .addCommand(
      new Command('role')
        .description('Give a member another role.')
        .argument('<email>', 'the address of the member')
        .addArgument(new Argument('<role>', 'what they may do').choices(['member', 'admin']))
        .action((email: string, role: Role, _options: object, command: Command) =>
          changeRole(cli, email, role, command.optsWithGlobals<Options>()),
        ),
    )
    .addCommand(
      new Command('remove')
        .description('Remove a member, which signs the person out everywhere.')
        .argument('<email>', 'the address of the member')
        .action((email: string, _options: object, command: Command) =>
          removeMember(cli, email, command.optsWithGlobals<Options>()),
        ),
    )

async function listMembers({ environment, output }: Cli, { url, team: given, json }: Options): Promise<void> {
  const { control, profile } = await openDeployment(environment.folder, url)
  const members = await findMembers(control, given ?? profile.team)
  if (json) return output.json(members)
  output.table(
    ['EMAIL', 'ROLE', 'INVITED', 'BY', 'DEVICES', 'LAST SEEN'],
    members.map(({ email, role, invitedAt, source, devices, lastSeenAt }) => [
      email,
      role,
      toLocalTime(invitedAt),
      source === 'file' ? 'directory file' : 'admin',
      String(devices),
      lastSeenAt === null ? 'never' : toLocalTime(lastSeenAt),
    ]),
  )
}

async function findMembers(control: Deployment['control'], team: string): Promise<Member[]> {
  const members: Member[] = []
  for (let after: string | null = ''; after !== null;) {
    const params = { path: { team }, query: after === '' ? {} : { after } }
    const page: components['schemas']['TeamMemberList'] = await unwrap(
      control.GET('/v1/teams/{team}/members', { params }),
    )
    members.push(...page.members)
    after = page.next
  }
  return members
}

/** The member with an address. Throws when the team has none. */
async function findMember(control: Deployment['control'], team: string, email: string): Promise<Member> {
  const members = await findMembers(control, team)
  const member = members.find((each) => each.email === email.trim().toLowerCase())
  if (!member) throw new CommandError(`${email} is not a member of ${team}. Run: svc members`)
  return member
}

async function changeRole({ environment, output }: Cli, email: string, role: Role, options: Options): Promise<void> {
  const { control, profile } = await openDeployment(environment.folder, options.url)
  const team = options.team ?? profile.team
  const { id } = await findMember(control, team, email)
  const params = { path: { team, id } }
  const member = await unwrap(control.PATCH('/v1/teams/{team}/members/{id}', { params, body: { role } }))
  if (options.json) return output.json(member)
  output.print(`${member.email} is ${member.role} of ${team} now.`)
}

async function removeMember({ environment, output }: Cli, email: string, options: Options): Promise<void> {
  const { control, profile } = await openDeployment(environment.folder, options.url)
  const team = options.team ?? profile.team
  const member = await findMember(control, team, email)
  await unwrap(control.DELETE('/v1/teams/{team}/members/{id}', { params: { path: { team, id: member.id } } }))
  output.print(`${member.email} is no longer a member of ${team}, and is signed out everywhere.`)
}
