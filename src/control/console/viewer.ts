import type { MembershipStore } from '../../directory/memberships.ts'
import type { ActorRequest } from '../../http/request.ts'
import type { Role } from '../../kernel/caller.ts'
import { formatTeamName } from '../../kernel/team-name.ts'
import type { TeamName } from '../../kernel/team-name.ts'
import { pathOfTeam } from '../pages/forms.ts'
import { findTeamActor, requireAdmin } from '../team-access.ts'
import type { TeamActor } from '../team-access.ts'

/** The person who looks at the pages of a team, and the author of the changes that its forms make. */
export type Viewer = TeamActor & {
  readonly role: Role
  /** The address of the team's first page. */
  readonly path: string
  /** The other teams of the person, by name. */
  readonly others: readonly { readonly team: string; readonly path: string }[]
}

/** A request for a page of a team. */
type TeamRequest = ActorRequest & { readonly params: TeamName }

/** Finds what a caller is in the team of a page. Throws `not_found` when the caller is no member of it. */
export type FindViewer = (req: TeamRequest) => Promise<Viewer>

type Needs = { readonly memberships: Pick<MembershipStore, 'findMembership' | 'findTeamsOf'> }

/** Makes the check with which every page of a team begins. */
export function makeFindViewer({ memberships }: Needs): FindViewer {
  return async (req) => {
    const team = formatTeamName(req.params)
    const member = await findTeamActor(memberships.findMembership, team, req)
    const teams = (await memberships.findTeamsOf([member.accountId])).map(([, of]) => of).toSorted()
    return {
      ...member,
      path: pathOfTeam(team),
      others: teams.filter((other) => other !== team).map((other) => ({ team: other, path: pathOfTeam(other) })),
    }
  }
}

/** Finds an admin. Throws `forbidden` for members of the team. */
export function onlyAdmins(findViewer: FindViewer): FindViewer {
  return async (req) => {
    const viewer = await findViewer(req)
    requireAdmin(viewer.role)
    return viewer
  }
}

/** Whose calls a viewer sees: an admin those of the whole team, a member their own. */
export function subjectOf({ team, role, accountId }: Viewer) {
  return { team, accountId: role === 'admin' ? null : accountId }
}
