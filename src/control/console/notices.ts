import type { Interpolation } from '../../http/page.ts'
import { noticeBar } from '../pages/parts.ts'

/** What a page of a team says after a form was sent. */
const NOTICES = {
  invited: { status: 200, tone: 'good', text: 'Invited. An email is on its way.' },
  invited_without_email: {
    status: 200,
    tone: 'good',
    text: 'Invited. No email was sent: tell them to sign in with svc login, or on this site.',
  },
  invalid_email: { status: 400, tone: 'bad', text: 'That is not one email address. Nobody was invited.' },
  invited_before: { status: 409, tone: 'bad', text: 'This address is invited to the team already.' },
  role_set: { status: 200, tone: 'good', text: 'The role is changed.' },
  removed: {
    status: 200,
    tone: 'good',
    text: 'Removed. Devices, browsers and API keys of the person end within seconds.',
  },
  unknown_member: { status: 404, tone: 'bad', text: 'The team has no such member any more. The list is up to date.' },
  listed: { status: 409, tone: 'bad', text: 'The directory file lists this member. Change it there.' },
  last_admin: {
    status: 409,
    tone: 'bad',
    text: 'This is the only admin of the team. Make another member an admin first.',
  },
  device_signed_out: { status: 200, tone: 'good', text: 'It is signed out. Its access ends within seconds.' },
  unknown_device: { status: 404, tone: 'bad', text: 'It is not signed in any more. The list is up to date.' },
  account_created: { status: 200, tone: 'good', text: 'The service account is made. Make a key for it below.' },
  account_deleted: { status: 200, tone: 'good', text: 'The service account and its keys are deleted.' },
  account_exists: { status: 409, tone: 'bad', text: 'The team has a service account with this name.' },
  unknown_account: { status: 404, tone: 'bad', text: 'The team has no such service account any more.' },
  key_made: { status: 200, tone: 'good', text: 'The key is made.' },
  key_rotated: { status: 200, tone: 'good', text: 'The key is rotated. Change your programs to the new one.' },
  key_revoked: { status: 200, tone: 'good', text: 'The key is revoked and opens nothing any more.' },
  unknown_key: { status: 404, tone: 'bad', text: 'There is no such key any more. The list is up to date.' },
  unknown_model: { status: 400, tone: 'bad', text: 'The team does not have this model any more. No key was made.' },
  key_rotated_before: {
    status: 409,
    tone: 'bad',
    text: 'This key was rotated before. Rotate the key that replaced it.',
  },
  too_many_keys: { status: 409, tone: 'bad', text: '50 keys work already, which is the limit. Revoke one first.' },
  invalid_name: { status: 400, tone: 'bad', text: 'A name has 1 to 64 visible characters. Nothing was changed.' },
  reauthenticate: {
    status: 403,
    tone: 'bad',
    text:
      'This needs a sign-in that is at most 15 minutes old. Confirm that it is you on the page of your devices and ' +
      'keys, then repeat it.',
  },
} as const

export type TeamNotice = keyof typeof NOTICES

/** The status of the page that has this notice. */
export function statusOf(notice: TeamNotice | null): number {
  return notice ? NOTICES[notice].status : 200
}

/** The notice above the content; nothing without one. */
export function noticeOf(notice: TeamNotice | null): Interpolation {
  return notice && noticeBar(NOTICES[notice].tone, NOTICES[notice].text)
}
