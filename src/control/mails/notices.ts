import { toUtcText } from '../../kernel/utc-text.ts'
import { composeMail, deviceFact, nameInSubject, quoteUnlinked } from './compose.ts'
import type { ComposedMail, Heading, Part } from './compose.ts'

/** When and where it happened, and the page on which the person can act. */
type Occurrence = {
  readonly at: Date
  readonly ip: string
  /** The address of the device page, built from the configured base URL. */
  readonly devicePage: string
}

export type DeviceSignedIn = Occurrence & {
  readonly deviceName: string
  readonly approvedVia: 'mail' | 'session' | 'user_code' | 'passkey'
  /** `@organization/name` */
  readonly team: string
}

/** Tells that a new device signed in, and how to sign it out. */
export function deviceSignedInMail(data: DeviceSignedIn): ComposedMail {
  return composeMail(headingOf('A new device signed in', data.deviceName), [
    { kind: 'paragraph', text: `A device signed in to ${data.team} with your account.` },
    {
      kind: 'facts',
      facts: [
        deviceFact(data.deviceName),
        ...placeAndTime(data),
        { label: 'Approved', value: APPROVED[data.approvedVia] },
      ],
    },
    { kind: 'paragraph', text: 'If this was you, there is nothing to do.' },
    {
      kind: 'paragraph',
      text: 'If it was not, sign this device out now: its access ends within seconds. Then tell an admin of your team.',
    },
    toDevices(data),
  ])
}

const APPROVED: Readonly<Record<DeviceSignedIn['approvedVia'], string>> = {
  mail: 'by the link in an email to you',
  session: 'by a person signed in as you',
  user_code: 'by its code, typed by a person signed in as you',
  passkey: 'with your passkey',
}

export type PasskeyChanged = Occurrence & {
  readonly change: 'added' | 'removed'
  readonly passkeyName: string
}

/** Tells that a passkey was added to the account, or removed from it. */
export function passkeyChangedMail(data: PasskeyChanged): ComposedMail {
  return composeMail(headingOf(`A passkey was ${data.change}`, data.passkeyName), [
    { kind: 'paragraph', text: PASSKEY_WORDS[data.change] },
    { kind: 'facts', facts: [{ label: 'Passkey', value: quoteUnlinked(data.passkeyName) }, ...placeAndTime(data)] },
    { kind: 'paragraph', text: 'If this was you, there is nothing to do.' },
    {
      kind: 'paragraph',
      text:
        'If it was not, somebody else is signed in as you. Sign out everywhere, delete the passkeys that you do not ' +
        'recognise, and tell an admin of your team.',
    },
    toDevices(data),
  ])
}

const PASSKEY_WORDS = {
  added: 'Your account has a new passkey. Its holder can sign in as you.',
  removed: 'A passkey of your account was removed. It no longer signs anybody in.',
} as const

export type RefreshReused = Occurrence & { readonly deviceName: string }

/** Tells that a device was signed out because a replaced refresh token was used again (RFC 9700, section 4.14). */
export function refreshReusedMail(data: RefreshReused): ComposedMail {
  return composeMail(headingOf('We signed out one of your devices', data.deviceName), [
    {
      kind: 'paragraph',
      text:
        'A sign-in that belongs to one device was used a second time. This happens when somebody has copied it. ' +
        'To be safe, we signed that device out; the copy no longer works.',
    },
    { kind: 'facts', facts: [deviceFact(data.deviceName), ...placeAndTime(data)] },
    {
      kind: 'paragraph',
      text:
        'Sign in on that device again when you need it. If you restored it from a backup, or copied its settings to ' +
        'another device, that was the reason. If not, somebody may have had access to that device: check it, ' +
        'look through your devices and passkeys, and tell an admin of your team.',
    },
    toDevices(data),
  ])
}

/** The name is in the subject, so that two emails of one kind can be told apart in a list. */
function headingOf(title: string, name: string): Heading {
  return { title, subject: `${title}: ${nameInSubject(name)}` }
}

function placeAndTime({ at, ip }: Occurrence) {
  return [
    { label: 'Place', value: ip, note: 'IP address' },
    { label: 'Time', value: toUtcText(at) },
  ]
}

function toDevices({ devicePage }: Occurrence): Part {
  return { kind: 'link', label: 'Your devices and passkeys', address: devicePage }
}
