import { Command } from 'commander'
import { unwrap } from '../../sdk/index.ts'
import type { TeamInvitation } from '../../sdk/index.ts'
import { openTeam, withTeamOptions } from '../arguments/team-options.ts'
import type { TeamOptions } from '../arguments/team-options.ts'
import { actionOf } from '../command-line.ts'
import type { Cli, MakeCommand } from '../command-line.ts'
import type { Deployment } from '../deployment/deployment.ts'
import { readPages } from '../deployment/pages.ts'
import { CommandError } from '../failures.ts'
import { withSameTarget } from '../same-target.ts'

export const makeUninvite: MakeCommand = (cli) =>
  withTeamOptions(new Command('uninvite'))
    .description(
      'Withdraw an invitation. The person is signed out of the team, and their API keys for it stop working.',
    )
    .argument('<email>', 'the invited email address')
    .action(actionOf(cli, uninvite))

async function uninvite(cli: Cli, email: string, options: TeamOptions): Promise<void> {
  const { control, team } = await openTeam(cli, options)
  const invitation = await findInvitation(control, team, email.toLowerCase())
  if (!invitation)
    throw new CommandError(`${email} is not invited to ${team}. Run: ${withSameTarget('svc members', options)}`)
  const params = { path: { team, id: invitation.id } }
  const done = await unwrap(control.DELETE('/v1/teams/{team}/invitations/{id}', { params }))
  if (options.json) return cli.output.json(done)
  cli.output.print(
    `${invitation.email} is no longer invited to ${team}. Their devices and API keys of the team have ended.`,
  )
}

/** Reads the list page by page until the address is found. */
async function findInvitation(
  control: Deployment['control'],
  team: string,
  email: string,
): Promise<TeamInvitation | undefined> {
  const pages = readPages((after) =>
    unwrap(
      control.GET('/v1/teams/{team}/invitations', { params: { path: { team }, query: { ...(after && { after }) } } }),
    ),
  )
  for await (const { invitations } of pages) {
    const found = invitations.find((each) => each.email.toLowerCase() === email)
    if (found) return found
  }
  return undefined
}
