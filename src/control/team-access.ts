import type { Transaction } from '../database/client.ts'
import type { FindMembership, Membership } from '../directory/memberships.ts'
import { ApiError } from '../http/errors.ts'
import { actorOf } from '../http/request.ts'
import type { ActorRequest } from '../http/request.ts'
import type { Actor, Role } from '../kernel/caller.ts'
import { parseTeamName } from '../kernel/team-name.ts'
import type { TeamName } from '../kernel/team-name.ts'
import { requireSignedIn } from './signed-in.ts'

/**
 * Finds what an account is in a team, by `@organization/name`. Throws the same `not_found` for a team that does not
 * exist and for one that the account is not a member of.
 */
export async function findMemberTeam(
  findMembership: FindMembership,
  name: string,
  accountId: string,
): Promise<{ readonly team: TeamName; readonly membership: Membership }> {
  const team = parseTeamName(name)
  const membership = team && (await findMembership(team, accountId))
  if (!membership) throw unknownTeam()
  return { team, membership }
}

/** The refusal for a team that does not exist, or does not exist any more. */
export function unknownTeam(): ApiError {
  return new ApiError('not_found', { message: 'You are not a member of a team with this name.' })
}

/**
 * Locks a team until the transaction ends, so that its admins change it one after the other. Throws `not_found`,
 * `forbidden` or `unauthorized` when the team, the admin's role or the admin's session has gone since the caller was
 * found to be an admin. So of two admins who remove each other at the same time, one stays, and a stolen session
 * changes nothing after it was signed out.
 */
export async function lockTeam(
  tx: Transaction,
  { teamId, accountId, ...session }: Pick<TeamActor, 'teamId' | 'accountId' | 'sessionId' | 'sessionKind'>,
): Promise<void> {
  await tx.$queryRaw`SELECT id FROM teams WHERE id = ${teamId}::uuid FOR NO KEY UPDATE`
  // A statement of its own: the one before does not see what was changed while it waited.
  const membership = await tx.invitation.findFirst({ where: { teamId, accountId, revokedAt: null } })
  if (!membership) throw unknownTeam()
  requireAdmin(membership.role)
  await requireSignedIn(tx, session)
}

/** Throws `forbidden` for members who are not admins. */
export function requireAdmin(role: Role): void {
  if (role !== 'admin') throw new ApiError('forbidden', { message: 'Only admins of the team can do this.' })
}

/** The author of a change to a team. Whether it is an admin of the team is checked again when the team is locked. */
export type TeamActor = Actor & {
  readonly email: string
  readonly teamId: string
  /** `@organization/name` */
  readonly team: string
}

/** Finds who makes a request as an admin of a team. Throws `forbidden` for members; for others no such team exists. */
export type FindTeamAdmin = (team: string, req: ActorRequest) => Promise<TeamActor>

/** Makes the check with which every operation for admins of a team begins. */
export function makeFindTeamAdmin(findMembership: FindMembership): FindTeamAdmin {
  return async (team, req) => {
    const member = await findTeamActor(findMembership, team, req)
    requireAdmin(member.role)
    return member
  }
}

/** Finds who makes a request as a member of a team. For others no such team exists. */
export async function findTeamActor(
  findMembership: FindMembership,
  team: string,
  req: ActorRequest,
): Promise<TeamActor & { readonly role: Role }> {
  const actor = actorOf(req)
  const { membership } = await findMemberTeam(findMembership, team, actor.accountId)
  const { email, teamId, role } = membership
  return { ...actor, email, teamId, team, role }
}
