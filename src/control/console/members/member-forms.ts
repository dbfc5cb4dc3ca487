import type { MembersForm } from '../../../../generated/openapi.ts'
import type { Html } from '../../../http/page.ts'
import { ApiError } from '../../../http/errors.ts'
import type { Clock } from '../../../kernel/clock.ts'
import { isFresh } from '../../fresh.ts'
import type { ResendInvitation } from '../../invitations/announce.ts'
import type { Invite } from '../../invitations/invite.ts'
import type { MemberChanges } from '../../members/changes.ts'
import type { ListedMember, MemberRefusal, TeamMemberStore } from '../../members/store.ts'
import { findPage } from '../../paging.ts'
import { required } from '../../request-fields.ts'
import { toTeamFormOutcome } from '../form-outcome.ts'
import type { TeamFormOutcome } from '../form-outcome.ts'
import type { TeamNotice } from '../notices.ts'
import type { Viewer } from '../viewer.ts'
import { membersPage } from './members-page.ts'

/** The members page and its forms. */
export type MemberForms = {
  /** `after`: the address that the page follows; empty for the first page. */
  render(admin: Viewer, content: TeamFormOutcome<MembersForm> & { readonly after: string }): Promise<Html>
  change(admin: Viewer, form: MembersForm): Promise<TeamFormOutcome<MembersForm>>
}

type Needs = {
  readonly members: TeamMemberStore
  readonly changes: MemberChanges
  readonly invite: Invite
  /** Null: the service cannot send email. */
  readonly resend: ResendInvitation | null
  readonly clock: Clock
}

const MEMBERS_OF_PAGE = 50

/** Makes the members page and its forms. */
export function makeMemberForms({ members, changes, invite, resend, clock }: Needs): MemberForms {
  async function apply(admin: Viewer, form: MembersForm): Promise<TeamNotice> {
    const { action, email, role, memberId } = form
    if (action === 'invite') {
      const made = await invite(admin, { email: required('email', email), role: role ?? 'member' })
      if (typeof made === 'string') return made
      return made.emailed ? 'invited' : 'invited_without_email'
    }
    const accountId = required('memberId', memberId)
    if (action === 'resend') {
      if (!resend) throw new ApiError('email_unavailable')
      return (await resend(admin, { accountId })) ? 'invitation_resent' : 'unknown_member'
    }
    if (action === 'remove') return toNotice(await changes.remove(admin, { accountId }))
    return toNotice(await changes.setRole(admin, accountId, required('role', role)))
  }

  return {
    async render(admin, { after, ...outcome }) {
      const now = clock.now()
      const { shown, last } = await findPage(MEMBERS_OF_PAGE, (limit) => members.list(admin.teamId, after, limit, now))
      const fresh = isFresh(admin, now)
      const hasEmail = resend !== null
      return membersPage(admin, { members: shown, after, next: last && last.email, fresh, hasEmail, now, ...outcome })
    },

    async change(admin, form) {
      return toTeamFormOutcome(await apply(admin, form), form)
    },
  }
}

function toNotice(changed: ListedMember | 'removed' | 'reauthenticate' | MemberRefusal): TeamNotice {
  if (typeof changed !== 'string') return 'role_set'
  return changed === 'not_found' ? 'unknown_member' : changed
}
