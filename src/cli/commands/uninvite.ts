import { Command } from 'commander'
import type { Cli, GlobalOptions, MakeCommand } from '../command-line.ts'
import { openDeployment } from '../deployment.ts'
import { CommandError } from '../failures.ts'
import { unwrap } from '../../sdk/index.ts'

type Options = GlobalOptions & { readonly team?: string }

export const makeUninvite: MakeCommand = (cli) =>
  new Command('uninvite')
    .description('Withdraw an invitation, which signs the person out everywhere.')
    .helpGroup('For admins of a team:')
    .argument('<email>', 'the invited address')
    .option('--team <team>', '@organization/name; your own team unless given')
    .action((email: string, _options: object, command: Command) =>
      uninvite(cli, email, command.optsWithGlobals<Options>()),
    )

async function uninvite({ environment, output }: Cli, email: string, { url, team: given }: Options): Promise<void> {
  const { control, profile } = await openDeployment(environment.folder, url)
  const team = given ?? profile.team
  const { invitations } = await unwrap(control.GET('/v1/teams/{team}/invitations', { params: { path: { team } } }))
  const invitation = invitations.find((each) => each.email.toLowerCase() === email.toLowerCase())
  if (!invitation) throw new CommandError(`${email} is not invited to ${team}. Run: svc members`)
  const params = { path: { team, id: invitation.id } }
  await unwrap(control.DELETE('/v1/teams/{team}/invitations/{id}', { params }))
  output.print(`${invitation.email} is no longer invited to ${team}, and is signed out everywhere.`)
}
