import { Command } from 'commander'
import { unwrap } from '../../sdk/index.ts'
import { openTeam, withTeamOptions } from '../arguments/team-options.ts'
import type { TeamOptions } from '../arguments/team-options.ts'
import { actionOf } from '../command-line.ts'
import type { Cli, MakeCommand } from '../command-line.ts'
import { findInvitation } from '../deployment/find-invitation.ts'

export const makeUninvite: MakeCommand = (cli) =>
  withTeamOptions(new Command('uninvite'))
    .description(
      'Withdraw an invitation. The person is signed out of the team, and their API keys for it stop working.',
    )
    .argument('<email>', 'the invited email address')
    .action(actionOf(cli, uninvite))

async function uninvite(cli: Cli, email: string, options: TeamOptions): Promise<void> {
  const { control, team } = await openTeam(cli, options)
  const invitation = await findInvitation(control, team, email, options)
  const params = { path: { team, id: invitation.id } }
  const done = await unwrap(control.DELETE('/v1/teams/{team}/invitations/{id}', { params }))
  if (options.json) return cli.output.json(done)
  cli.output.print(
    `${invitation.email} is no longer invited to ${team}. Their devices and API keys of the team have ended.`,
  )
}
