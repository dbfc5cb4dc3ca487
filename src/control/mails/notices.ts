import { toUtcText } from '../../kernel/utc-text.ts'
import { letter, type Mail, type Part, unlinked } from './letter.ts'

/** When and where it happened, and where the person can do something about it. */
type Happening = {
  readonly at: Date
  readonly ip: string
  /** The address of the device page, built from the configured base URL. */
  readonly devicePage: string
}

export type DeviceSignedIn = Happening & {
  readonly deviceName: string
  readonly approvedVia: 'mail' | 'session' | 'user_code' | 'passkey'
  /** `@organization/name` */
  readonly team: string
}

/** A device that was not signed in before now is. Says how to sign it out. */
export function deviceSignedInMail(data: DeviceSignedIn): Mail {
  return letter('A new device signed in', [
    { kind: 'words', words: `A device signed in to ${data.team} with your account.` },
    {
      kind: 'facts',
      facts: [
        deviceFact(data.deviceName),
        ...placeAndTime(data),
        { label: 'Approved', value: APPROVED[data.approvedVia] },
      ],
    },
    { kind: 'words', words: 'If this was you, there is nothing to do.' },
    {
      kind: 'words',
      words:
        'If it was not, sign this device out now: its access ends within seconds. Then tell an admin of your team.',
    },
    toDevices(data),
  ])
}

const APPROVED: Readonly<Record<DeviceSignedIn['approvedVia'], string>> = {
  mail: 'by the link in a mail to you',
  session: 'by somebody signed in as you',
  user_code: 'by its code, typed by somebody signed in as you',
  passkey: 'with your passkey',
}

export type PasskeyChanged = Happening & {
  readonly change: 'added' | 'removed'
  readonly passkeyName: string
}

/** A passkey was added to the account, or removed from it. */
export function passkeyChangedMail(data: PasskeyChanged): Mail {
  return letter(data.change === 'added' ? 'A passkey was added' : 'A passkey was removed', [
    { kind: 'words', words: PASSKEY_WORDS[data.change] },
    { kind: 'facts', facts: [{ label: 'Passkey', value: unlinked(data.passkeyName) }, ...placeAndTime(data)] },
    { kind: 'words', words: 'If this was you, there is nothing to do.' },
    {
      kind: 'words',
      words:
        'If it was not, somebody else is signed in as you. Sign out everywhere, delete the passkeys that you do not know, and tell an admin of your team.',
    },
    toDevices(data),
  ])
}

const PASSKEY_WORDS = {
  added: 'Your account has a new passkey. Whoever holds it can sign in as you.',
  removed: 'A passkey of your account was removed. Nobody can sign in with it any more.',
} as const

export type RefreshReused = Happening & { readonly deviceName: string }

/** A refresh token came back after it had been replaced: a copy is about, so the device was signed out (RFC 9700 section 4.14). */
export function refreshReusedMail(data: RefreshReused): Mail {
  return letter('We signed out one of your devices', [
    {
      kind: 'words',
      words:
        'A sign-in that belongs to one device was used a second time, as happens when somebody has copied it. To be safe, we signed that device out; the copy no longer works.',
    },
    { kind: 'facts', facts: [deviceFact(data.deviceName), ...placeAndTime(data)] },
    {
      kind: 'words',
      words:
        'Sign in on that device again when you need it. If you restored it from a backup, or copied its settings to another one, that was the reason. If not, somebody may have got at that device: check it, look through your devices and passkeys, and tell an admin of your team.',
    },
    toDevices(data),
  ])
}

function deviceFact(deviceName: string) {
  return { label: 'Device', value: unlinked(deviceName), note: 'reported by the device' }
}

function placeAndTime({ at, ip }: Happening) {
  return [
    { label: 'Place', value: ip, note: 'IP address' },
    { label: 'Time', value: toUtcText(at) },
  ]
}

function toDevices({ devicePage }: Happening): Part {
  return { kind: 'link', label: 'Your devices and passkeys', address: devicePage }
}
