import { KEY_NOTICES } from '../pages/key-notices.ts'

/** What the device page says after a form was sent, and the status of that page. */
export const DEVICE_NOTICES = {
  approved: { status: 200, text: 'Approved. Your device finishes signing in within seconds.' },
  denied: { status: 200, text: 'Denied. The device was not signed in.' },
  unknown_code: {
    status: 404,
    text:
      'No device of yours waits with this code. Compare it with the screen. ' +
      'If it is right, start the sign-in again.',
  },
  expired_code: { status: 410, text: 'This code has expired. Start the sign-in on the device again.' },
  approved_code: {
    status: 409,
    text: 'This sign-in was approved before. If that was a mistake, sign the device out below.',
  },
  denied_code: { status: 409, text: 'This sign-in was denied before. Start it on the device again.' },
  too_many_codes: { status: 429, text: 'Too many wrong codes. Wait ten minutes, then try again.' },
  device_signed_out: { status: 200, text: 'It is signed out. Its access ends within seconds.' },
  unknown_device: { status: 404, text: 'It is not signed in any more. The list below is up to date.' },
  signed_out_others: { status: 200, text: 'Everything but this browser is signed out.' },
  device_disowned: {
    status: 200,
    text: 'Everything but this browser is signed out. The passkeys and keys that were added since then are deleted.',
  },
  passkey_renamed: { status: 200, text: 'The passkey has its new name.' },
  passkey_deleted: {
    status: 200,
    text: 'The passkey is deleted and signs nobody in any more. Remove it from your password manager too.',
  },
  unknown_passkey: { status: 404, text: 'There is no such passkey any more. The list below is up to date.' },
  ...KEY_NOTICES,
  reauthenticate: {
    status: 403,
    text: 'This needs a sign-in that is at most 15 minutes old. Confirm that it is you below, then repeat it.',
  },
} as const

export type DeviceNotice = keyof typeof DEVICE_NOTICES
