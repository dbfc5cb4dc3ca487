import { KEY_NOTICES } from '../pages/key-notices.ts'

type Notice = { readonly tone: 'good' | 'bad'; readonly text: string }

/** What the device page says after a form was sent. */
export const DEVICE_NOTICES = {
  approved: { tone: 'good', text: 'Approved. Your device finishes signing in within seconds.' },
  denied: { tone: 'good', text: 'Denied. The device was not signed in.' },
  unknown_code: {
    tone: 'bad',
    text:
      'No device of yours waits with this code. Compare it with the screen. ' +
      'If it is right, start the sign-in again.',
  },
  expired_code: { tone: 'bad', text: 'This code has expired. Start the sign-in on the device again.' },
  approved_code: {
    tone: 'bad',
    text: 'This sign-in was approved before. If that was a mistake, sign the device out below.',
  },
  denied_code: { tone: 'bad', text: 'This sign-in was denied before. Start it on the device again.' },
  too_many_codes: { tone: 'bad', text: 'Too many wrong codes. Wait ten minutes, then try again.' },
  device_signed_out: { tone: 'good', text: 'It is signed out. Its access ends within seconds.' },
  unknown_device: { tone: 'bad', text: 'It is not signed in any more. The list below is up to date.' },
  signed_out_others: { tone: 'good', text: 'Everything but this browser is signed out.' },
  device_disowned: {
    tone: 'good',
    text: 'Everything but this browser is signed out. The passkeys and keys that were added since then are deleted.',
  },
  passkey_renamed: { tone: 'good', text: 'The passkey has its new name.' },
  passkey_deleted: {
    tone: 'good',
    text: 'The passkey is deleted and opens nothing any more. Remove it from your password manager too.',
  },
  unknown_passkey: { tone: 'bad', text: 'There is no such passkey any more. The list below is up to date.' },
  ...KEY_NOTICES,
  reauthenticate: {
    tone: 'bad',
    text: 'This needs a sign-in that is at most 15 minutes old. Confirm that it is you below, then repeat it.',
  },
} as const satisfies Record<string, Notice>

export type DeviceNotice = keyof typeof DEVICE_NOTICES
