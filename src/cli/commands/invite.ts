import { Command, Option } from 'commander'
import { unwrap } from '../../sdk/index.ts'
import type { Role } from '../../sdk/index.ts'
import { openTeam, withTeamOptions } from '../arguments/team-options.ts'
import type { TeamOptions } from '../arguments/team-options.ts'
import { actionOf } from '../command-line.ts'
import type { Cli, MakeCommand } from '../command-line.ts'

type Options = TeamOptions & { readonly role?: Role }

export const makeInvite: MakeCommand = (cli) =>
  withTeamOptions(new Command('invite'))
    .description('Invite a person to a team.')
    .argument('<email>', 'the email address that may sign in')
    .addOption(new Option('--role <role>', 'what they may do').choices(['member', 'admin']).default('member'))
    .action(actionOf(cli, invite))

async function invite(cli: Cli, email: string, options: Options): Promise<void> {
  const { output } = cli
  const { role, json } = options
  const { deployment, control, team } = await openTeam(cli, options)
  const params = { path: { team } }
  const body = { email, ...(role && { role }) }
  const invitation = await unwrap(control.POST('/v1/teams/{team}/invitations', { params, body }))
  if (json) return output.json(invitation)
  const how = invitation.emailed
    ? 'An email tells them how.'
    : `Tell them to open ${deployment.url}, which says how to install svc and sign in.`
  output.print(`${invitation.email} may sign in to ${team} as ${invitation.role}. ${how}`)
}
