import type { Interpolation } from '../../http/page.ts'
import { KEY_NOTICES } from '../pages/key-notices.ts'
import { noticeBar } from '../pages/parts.ts'
import { MAX_SERVICE_ACCOUNTS } from '../service-accounts/store.ts'
import { MAX_LIMITS } from '../spending-limits/store.ts'

/** What a page of a team says after a form was sent, and the status of that page. */
const NOTICES = {
  invited: { status: 200, text: 'Invited. An email is on its way.' },
  invited_without_email: {
    status: 200,
    text: 'Invited. No email was sent: tell them to open this site, which says how to install svc and sign in.',
  },
  invitation_resent: { status: 200, text: 'The email of the invitation is on its way.' },
  invalid_email: { status: 400, text: 'That is not one email address. Nobody was invited.' },
  invited_before: { status: 409, text: 'This address is invited to the team already, so it can sign in.' },
  role_set: { status: 200, text: 'The role is changed.' },
  removed: {
    status: 200,
    text: 'Removed. Within seconds, the person is signed out everywhere, and their API keys stop working.',
  },
  unknown_member: { status: 404, text: 'The team has no such member any more. The list is up to date.' },
  listed: { status: 409, text: 'The directory file lists this member. Change it there.' },
  last_admin: { status: 409, text: 'This is the only admin of the team. Make another member an admin first.' },
  default_set: { status: 200, text: 'The default model is changed.' },
  model_deleted: { status: 200, text: 'The model is deleted. Nobody can call it any more.' },
  no_such_model: { status: 400, text: 'The team does not have this model. Nothing was changed.' },
  not_added: { status: 404, text: 'The admins of the team have added no such model.' },
  default_of_file: { status: 409, text: 'The directory file sets the default model. Change it there.' },
  model_kept: {
    status: 409,
    text: 'The directory file lists this model, or it is the default model: choose another default first.',
  },
  model_saved: { status: 200, text: 'The model is saved. It can be called within 5 seconds.' },
  model_invalid: { status: 400, text: 'The model was not saved.' },
  model_taken: { status: 409, text: 'The model was not saved.' },
  backend_saved: { status: 200, text: 'The backend is saved. Models can name it now.' },
  backend_deleted: { status: 200, text: 'The backend is deleted, with its credential.' },
  backend_invalid: { status: 400, text: 'The backend was not saved.' },
  backend_taken: { status: 409, text: 'Nothing was changed.' },
  unknown_backend: { status: 404, text: 'The admins of the team have added no such backend.' },
  backends_off: {
    status: 403,
    text: 'The operator lets admins add no backends. For that, the operator sets SVC_ADMIN_BACKEND_HOSTS.',
  },
  directory_busy: { status: 409, text: 'The directory file is being applied. Repeat this in a few seconds.' },
  device_signed_out: { status: 200, text: 'It is signed out. Its access ends within seconds.' },
  unknown_device: { status: 404, text: 'It is not signed in any more. The list is up to date.' },
  account_created: { status: 200, text: 'The service account is created. Create a key for it below.' },
  account_deleted: { status: 200, text: 'The service account and its keys are deleted.' },
  invalid_account: {
    status: 400,
    text:
      'A name has 1 to 64 of a-z, 0-9, ".", "_" and "-", and begins with a letter or a digit. No service account was ' +
      'created.',
  },
  account_exists: { status: 409, text: 'The team has a service account with this name.' },
  too_many_accounts: {
    status: 409,
    text: `The team has ${MAX_SERVICE_ACCOUNTS} service accounts, which is the limit. Delete one first.`,
  },
  unknown_account: { status: 404, text: 'The team has no such service account any more.' },
  key_made: { status: 200, text: 'The key is created.' },
  ...KEY_NOTICES,
  limit_created: { status: 200, text: 'The limit is set. It takes effect within two seconds.' },
  limit_changed: { status: 200, text: 'The limit is changed. It takes effect within two seconds.' },
  limit_removed: { status: 200, text: 'The limit is removed.' },
  unknown_limit: { status: 404, text: 'The team has no such limit any more. The list is up to date.' },
  limit_exists: {
    status: 409,
    text: 'There is a limit for the same calls and period already. Change its amount, or remove it first.',
  },
  too_many_limits: {
    status: 409,
    text: `The team has ${MAX_LIMITS} limits, which is the most it can have. Remove one first.`,
  },
  unknown_subject: {
    status: 400,
    text: 'The team has no such member, API key or service account. Choose again. No limit was set.',
  },
  invalid_amount: {
    status: 400,
    text:
      'Write the amount in USD as 50 or 2.50: above 0, at most 1,000,000, with at most 9 decimals. Nothing was ' +
      'changed.',
  },
  reauthenticate: {
    status: 403,
    text:
      'This needs a sign-in that is at most 15 minutes old. Confirm that it is you on the page of your devices and ' +
      'keys, then repeat it.',
  },
} as const

export type TeamNotice = keyof typeof NOTICES

/** The status of the page that has this notice. */
export function noticeStatusOf(notice: TeamNotice | null): number {
  return notice ? NOTICES[notice].status : 200
}

/** The text of a notice that says what is wrong with a field, for the field; undefined for the other notices. */
export function mistakeOf(notice: TeamNotice | null, ...ofField: readonly TeamNotice[]): string | undefined {
  return notice && ofField.includes(notice) ? NOTICES[notice].text : undefined
}

/** The notice above the content; nothing without one. `detail`: a sentence that says more. */
export function noticeOf(notice: TeamNotice | null, detail: string | null = null): Interpolation {
  return notice && noticeBar(NOTICES[notice].status, [NOTICES[notice].text, detail].filter(Boolean).join(' '))
}
