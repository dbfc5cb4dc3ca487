import type { MemberStore } from '../../directory/members.ts'
import type { Caller, Role } from '../../kernel/caller.ts'
import { formatTeamName } from '../../kernel/team-name.ts'
import type { TeamName } from '../../kernel/team-name.ts'
import { findMemberTeam, requireAdmin } from '../team-access.ts'

/** The person who looks at the pages of a team. */
export type Viewer = {
  readonly caller: Caller
  readonly email: string
  readonly teamId: string
  /** `@organization/name` */
  readonly team: string
  readonly role: Role
  /** The address of the team's first page. */
  readonly path: string
  /** The other teams of the person. */
  readonly others: readonly { readonly team: string; readonly path: string }[]
}

/** Finds what a caller is in a team. Throws `not_found` when the caller is no member of it. */
export type FindViewer = (caller: Caller, team: TeamName) => Promise<Viewer>

type Needs = { readonly members: Pick<MemberStore, 'findMembership' | 'findEmail' | 'findTeamsOf'> }

/** Makes the check with which every page of a team begins. */
export function makeFindViewer({ members }: Needs): FindViewer {
  return async (caller, name) => {
    const { accountId } = caller
    const team = formatTeamName(name)
    const { membership } = await findMemberTeam(members.findMembership, team, accountId)
    const teams = (await members.findTeamsOf([accountId])).map(([, of]) => of)
    return {
      caller,
      teamId: membership.teamId,
      role: membership.role,
      email: await members.findEmail(accountId),
      team,
      path: pathOf(team),
      others: teams.filter((other) => other !== team).map((other) => ({ team: other, path: pathOf(other) })),
    }
  }
}

/** Finds an admin. Throws `forbidden` for members of the team. */
export function onlyAdmins(findViewer: FindViewer): FindViewer {
  return async (caller, team) => {
    const viewer = await findViewer(caller, team)
    requireAdmin(viewer.role)
    return viewer
  }
}

/** Whose calls a viewer sees: an admin those of the whole team, a member their own. */
export function subjectOf({ team, role, caller }: Viewer) {
  return { team, accountId: role === 'admin' ? null : caller.accountId }
}

/** The address of a team's pages: `/teams/acme/core` for `@acme/core`. */
export function pathOf(team: string): string {
  return `/teams/${team.slice(1)}`
}
