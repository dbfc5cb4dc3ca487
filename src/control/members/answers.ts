import type { TeamMember } from '../../../generated/openapi.ts'
import { ApiError } from '../../http/errors.ts'
import type { ListedMember, MemberRefusal } from './store.ts'

/** Converts a member to the contract's. */
export function toMember({ source, invitedAt, lastSeenAt, ...member }: ListedMember): TeamMember {
  return {
    ...member,
    source: source === 'directory' ? 'file' : 'admin',
    invitedAt: invitedAt.toISOString(),
    lastSeenAt: lastSeenAt?.toISOString() ?? null,
  }
}

const LISTED = 'The directory file lists this member. Change it there and reload the service.'
const LAST_ADMIN = 'This is the only admin of the team. Make another member an admin first.'

/** The error of a refused change. */
export function toMemberError(refusal: MemberRefusal): ApiError {
  if (refusal === 'not_found')
    return new ApiError('not_found', { message: 'The team has no such member. GET .../members lists them.' })
  return new ApiError('conflict', { message: refusal === 'listed' ? LISTED : LAST_ADMIN })
}
