import { unwrap } from '../../sdk/index.ts'
import type { TeamInvitation } from '../../sdk/index.ts'
import { CommandError } from '../failures.ts'
import { withSameTarget } from '../same-target.ts'
import type { TargetOptions } from '../same-target.ts'
import type { Deployment } from './deployment.ts'
import { readPages } from './pages.ts'

/**
 * Finds the invitation of an address to a team: reads the list page by page until it is there. `target`: the options
 * that named the deployment and the team, for the error that says how to list who is invited.
 */
export async function findInvitation(
  control: Deployment['control'],
  team: string,
  email: string,
  target: TargetOptions,
): Promise<TeamInvitation> {
  const wanted = email.toLowerCase()
  const pages = readPages((after) =>
    unwrap(
      control.GET('/v1/teams/{team}/invitations', { params: { path: { team }, query: { ...(after && { after }) } } }),
    ),
  )
  for await (const { invitations } of pages) {
    const found = invitations.find((each) => each.email.toLowerCase() === wanted)
    if (found) return found
  }
  throw new CommandError(`${email} is not invited to ${team}. Run: ${withSameTarget('svc members', target)}`)
}
