import type { MembersForm } from '../../../../generated/openapi.ts'
import { html } from '../../../http/page.ts'
import type { Html, Interpolation } from '../../../http/page.ts'
import { toCount } from '../../../kernel/formats/number-format.ts'
import { seenSince } from '../../members/rules.ts'
import type { ListedMember } from '../../members/store.ts'
import { actionButton } from '../../pages/buttons.ts'
import { choiceField } from '../../pages/choice-field.ts'
import type { Choice } from '../../pages/choice-field.ts'
import { ICONS } from '../../pages/icons.ts'
import { inputField } from '../../pages/input-field.ts'
import { confirmFirst, fold, time } from '../../pages/parts.ts'
import type { TeamFormOutcome } from '../form-outcome.ts'
import { teamPage } from '../frame.ts'
import type { FramedViewer } from '../frame.ts'
import { mistakeOf, noticeOf } from '../notices.ts'
import { pageLinks } from '../table.ts'

export type MembersPage = TeamFormOutcome<MembersForm> & {
  readonly members: readonly ListedMember[]
  /** The email address after which this page begins; empty on the first page. */
  readonly after: string
  /** The address that the next page follows; null on the last page. */
  readonly next: string | null
  /** Whether the sign-in is fresh, which making an admin needs. */
  readonly fresh: boolean
  /** Whether the service can send email. */
  readonly hasEmail: boolean
  readonly now: Date
}

/** Who may sign in to a team, for its admins. */
export function membersPage(viewer: FramedViewer, data: MembersPage): Html {
  const { members, after, next, fresh, hasEmail, now, notice } = data
  const path = `${viewer.path}/members`
  const row = { path: after ? toPage(path, after) : path, fresh, hasEmail, now, self: viewer.email }
  return teamPage(
    viewer,
    'members',
    html`${noticeOf(notice)} ${invitePart(path, data)}
      <section class="part" aria-labelledby="members">
        <h2 id="members">People of the team</h2>
        ${
          members.length === 0
            ? html`<p class="empty">There is nobody on this page.</p>`
            : html`<ul class="rows">
                ${members.map((member) => memberRow(member, row))}
              </ul>`
        }
        ${pageLinks({ first: after ? path : null, next: next && toPage(path, next) }, 'More people')}
      </section>`,
  )
}

/** The path of the page that begins after an email address. */
function toPage(path: string, after: string): string {
  return `${path}?after=${encodeURIComponent(after)}`
}

function invitePart(path: string, { fresh, notice, draft }: MembersPage): Html {
  const given = draft?.action === 'invite' ? draft : null
  return html`<section class="part" aria-labelledby="invite">
    <h2 id="invite">Invite a person</h2>
    <form method="post" action="${path}" class="fields">
      ${inputField({
        id: 'email',
        name: 'email',
        label: 'Email address',
        value: given?.email,
        attributes: html`type="email" required maxlength="254" spellcheck="false"`,
        mistake: mistakeOf(notice, 'invalid_email', 'invited_before'),
      })}
      ${choiceField({
        id: 'role',
        name: 'role',
        label: 'Role',
        choices: fresh || given?.role === 'admin' ? [MEMBER, ADMIN] : [MEMBER],
        chosen: given?.role,
      })}
      ${actionButton('invite', html`${ICONS.mail} Invite`, 'primary')}
    </form>
    ${!fresh && html`<p class="hint">To invite an admin, ${confirmFirst(path)}.</p>`}
  </section>`
}

const MEMBER: Choice = ['member', 'Member']
const ADMIN: Choice = ['admin', 'Admin']

type RowOptions = Pick<MembersPage, 'fresh' | 'hasEmail' | 'now'> & {
  /** Where the forms of rows are sent. */
  readonly path: string
  /** The address of the viewer. */
  readonly self: string
}

function memberRow(member: ListedMember, options: RowOptions): Html {
  const { now, self } = options
  const isListed = member.source === 'directory'
  const forms = formsOf(member, options)
  return html`<li class="${forms.length === 0 ? 'row plain' : 'row'}">
    <p class="row-name">
      <span class="name">${member.email}</span> ${member.role === 'admin' && html`<span class="badge">Admin</span>`}
      ${member.email === self && html`<span class="badge plain">You</span>`}
    </p>
    <p class="row-facts">
      <span>${lastUse(member, now)}</span>
      <span>${isListed ? 'Listed in the directory file, invited' : 'Invited'} ${time(member.invitedAt)}</span>
    </p>
    ${forms.length > 0 && fold('Edit', `the member ${member.email}`, forms)}
  </li>`
}

function formsOf(member: ListedMember, { path, fresh, hasEmail }: RowOptions): readonly Html[] {
  const again = hasEmail && member.lastSeenAt === null ? [resendForm(member, path)] : []
  return member.source === 'directory' ? again : [...again, roleForm(member, path, fresh), removeForm(member.id, path)]
}

function lastUse({ devices, invitedAt, lastSeenAt }: ListedMember, now: Date): Interpolation {
  if (lastSeenAt === null) return invitedAt > seenSince(now) ? 'Not signed in yet' : 'Not seen in the last 30 days'
  const signedIn = devices === 1 ? '1 device' : `${toCount(devices)} devices`
  return html`Last seen ${time(lastSeenAt)} · ${signedIn} signed in`
}

function resendForm({ id, source }: ListedMember, path: string): Html {
  const isListed = source === 'directory'
  return html`<form method="post" action="${path}">
    <input type="hidden" name="memberId" value="${id}" />
    <p>${isListed && 'The directory file sends no emails.'} The email says how to install svc and sign in.</p>
    ${actionButton('resend', isListed ? 'Send an invitation' : 'Send the invitation again')}
  </form>`
}

function roleForm({ id, role }: ListedMember, path: string, fresh: boolean): Html {
  const wanted = role === 'admin' ? 'member' : 'admin'
  if (wanted === 'admin' && !fresh) return html`<p>To make them an admin, ${confirmFirst(path)}.</p>`
  return html`<form method="post" action="${path}">
    <input type="hidden" name="memberId" value="${id}" />
    <input type="hidden" name="role" value="${wanted}" />
    <p>
      ${
        wanted === 'admin'
          ? 'Admins see what the whole team uses, invite and remove people, and manage keys.'
          : 'Members see their own calls only, and change nothing of the team.'
      }
    </p>
    ${actionButton('set-role', wanted === 'admin' ? 'Make them an admin' : 'Make them a member')}
  </form>`
}

function removeForm(id: string, path: string): Html {
  return html`<form method="post" action="${path}">
    <input type="hidden" name="memberId" value="${id}" />
    <p>
      Their devices and browsers are signed out, and their API keys stop working, within seconds. What they used stays
      in the reports.
    </p>
    ${actionButton('remove', 'Remove from the team', 'danger')}
  </form>`
}
