import type { MembershipStore } from '../../directory/memberships.ts'
import { actorOf } from '../../http/request.ts'
import type { ActorRequest } from '../../http/request.ts'
import type { Role } from '../../kernel/caller.ts'
import { formatTeamName } from '../../kernel/team-name.ts'
import type { TeamName } from '../../kernel/team-name.ts'
import { pathOfTeam } from '../pages/forms.ts'
import { findMemberTeam, requireAdmin } from '../team-access.ts'
import type { TeamActor } from '../team-access.ts'

/** The person who looks at the pages of a team. */
export type Viewer = {
  /** The viewer as the author of changes to the team. */
  readonly actor: TeamActor
  readonly email: string
  /** `@organization/name` */
  readonly team: string
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
    const actor = actorOf(req)
    const team = formatTeamName(req.params)
    const { membership } = await findMemberTeam(memberships.findMembership, team, actor.accountId)
    const { email, teamId, role } = membership
    const teams = (await memberships.findTeamsOf([actor.accountId])).map(([, of]) => of).toSorted()
    return {
      actor: { ...actor, email, teamId, team },
      role,
      email,
      team,
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
export function subjectOf({ team, role, actor }: Viewer) {
  return { team, accountId: role === 'admin' ? null : actor.accountId }
}
