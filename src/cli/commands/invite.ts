import { Command, Option } from 'commander'
import type { Cli, GlobalOptions, MakeCommand } from '../command-line.ts'
import { openDeployment } from '../deployment.ts'
import { unwrap } from '../../sdk/index.ts'
import type { Role } from '../../sdk/index.ts'

type Options = GlobalOptions & { readonly team?: string; readonly role?: Role; readonly json?: boolean }

export const makeInvite: MakeCommand = (cli) =>
  new Command('invite')
    .description('Invite somebody to a team.')
    .helpGroup('For admins of a team:')
    .argument('<email>', 'the address that may sign in')
    .option('--team <team>', '@organization/name; your own team unless given')
    .addOption(new Option('--role <role>', 'what they may do').choices(['member', 'admin']).default('member'))
    .option('--json', 'print JSON')
    .action((email: string, _options: object, command: Command) =>
      invite(cli, email, command.optsWithGlobals<Options>()),
    )

async function invite({ environment, output }: Cli, email: string, { url, team: given, role, json }: Options) {
  const deployment = await openDeployment(environment.folder, url)
  const team = given ?? deployment.profile.team
  const params = { path: { team } }
  const body = { email, ...(role && { role }) }
  const invitation = await unwrap(deployment.control.POST('/v1/teams/{team}/invitations', { params, body }))
  if (json) return output.json(invitation)
  const how = invitation.emailed ? 'An email tells them how.' : `Tell them to run: svc login ${deployment.url}`
  output.print(`${invitation.email} may sign in to ${team} as ${invitation.role}. ${how}`)
}
