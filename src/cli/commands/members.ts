import { Command } from 'commander'
import type { Cli, GlobalOptions, MakeCommand } from '../command-line.ts'
import { openDeployment } from '../deployment.ts'
import { toLocalTime } from '../local-time.ts'
import { unwrap } from '../../sdk/index.ts'

type Options = GlobalOptions & { readonly team?: string; readonly json?: boolean }

export const makeMembers: MakeCommand = (cli) =>
  new Command('members')
    .description('List who may sign in to a team.')
    .helpGroup('For admins of a team:')
    .option('--team <team>', '@organization/name; your own team unless given')
    .option('--json', 'print JSON')
    .action((_options: object, command: Command) => listMembers(cli, command.optsWithGlobals<Options>()))

async function listMembers({ environment, output }: Cli, { url, team: given, json }: Options): Promise<void> {
  const { control, profile } = await openDeployment(environment.folder, url)
  const team = given ?? profile.team
  const { invitations } = await unwrap(control.GET('/v1/teams/{team}/invitations', { params: { path: { team } } }))
  if (json) return output.json(invitations)
  output.table(
    ['EMAIL', 'ROLE', 'INVITED', 'BY'],
    invitations.map(({ email, role, createdAt, source }) => [
      email,
      role,
      toLocalTime(createdAt),
      source === 'directory' ? 'directory file' : 'admin',
    ]),
  )
}
