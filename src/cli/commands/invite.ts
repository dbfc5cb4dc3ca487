import { Command, Option } from 'commander'
import { SvcError, unwrap } from '../../sdk/index.ts'
import type { Role } from '../../sdk/index.ts'
import { openTeam, withTeamOptions } from '../arguments/team-options.ts'
import type { TeamOptions } from '../arguments/team-options.ts'
import { actionOf } from '../command-line.ts'
import type { Cli, MakeCommand } from '../command-line.ts'
import { findInvitation } from '../deployment/find-invitation.ts'
import { CommandError } from '../failures.ts'
import { withSameTarget } from '../same-target.ts'

type Options = TeamOptions & { readonly role: Role; readonly resend?: true }

export const makeInvite: MakeCommand = (cli) =>
  withTeamOptions(new Command('invite'))
    .description('Invite a person to a team, by email.')
    .argument('<email>', 'the email address that may sign in')
    .addOption(new Option('--role <role>', 'what they may do').choices(['member', 'admin']).default('member'))
    .addOption(new Option('--resend', 'send the email again to a person who is invited').conflicts('role'))
    .action(actionOf(cli, invite))

async function invite(cli: Cli, email: string, options: Options): Promise<void> {
  if (options.resend) return resend(cli, email, options)
  const { output } = cli
  const { role, json } = options
  const { deployment, control, team } = await openTeam(cli, options)
  const params = { path: { team } }
  const body = { email, role }
  const invitation = await unwrap(control.POST('/v1/teams/{team}/invitations', { params, body })).catch(
    (error: unknown) => {
      if (!(error instanceof SvcError) || error.code !== 'conflict') throw error
      const again = withSameTarget(`svc invite ${email} --resend`, options)
      throw new CommandError(`${error.message} To send the email again, run: ${again}`)
    },
  )
  if (json) return output.json(invitation)
  const how = invitation.emailed
    ? 'An email tells them how.'
    : `Tell them to open ${deployment.url}, which says how to install svc and sign in.`
  output.print(`${invitation.email} may sign in to ${team} as ${invitation.role}. ${how}`)
}

async function resend(cli: Cli, email: string, options: Options): Promise<void> {
  const { control, team } = await openTeam(cli, options)
  const invitation = await findInvitation(control, team, email, options)
  const params = { path: { team, id: invitation.id } }
  const done = await unwrap(control.POST('/v1/teams/{team}/invitations/{id}/resend', { params }))
  if (options.json) return cli.output.json(done)
  cli.output.print(`An email tells ${invitation.email} again how to sign in to ${team}.`)
}
