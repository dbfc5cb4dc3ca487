import { toUtcText } from '../../kernel/formats/utc-text.ts'
import type { ApprovedVia } from '../tokens/rules.ts'
import { PATHS, pathOfTeam } from '../pages/forms.ts'
import { composeMail, deviceFact, nameInSubject, quoteUnlinked } from './compose.ts'
import type { ComposedMail, Heading, EmailPart } from './compose.ts'

/** When and where it happened. */
type Occurrence = {
  readonly at: Date
  readonly ip: string
  /** The public address of the deployment. */
  readonly baseUrl: string
}

export type DeviceSignedIn = Occurrence & {
  readonly deviceName: string
  readonly approvedVia: ApprovedVia
  /** `@organization/name` */
  readonly team: string
}

/** Tells that a new device signed in, and how to sign it out. */
export function deviceSignedInMail(data: DeviceSignedIn): ComposedMail {
  return composeMail(headingOf('A new device signed in', data.deviceName), [
    `A device signed in to ${data.team} with your account.`,
    {
      kind: 'facts',
      facts: [
        deviceFact(data.deviceName),
        ...placeAndTime(data),
        { label: 'Approved', value: APPROVED[data.approvedVia] },
      ],
    },
    'If this was you, there is nothing to do.',
    'If it was not, sign this device out now: its access ends within seconds. Then tell an admin of your team.',
    toDevices(data),
  ])
}

const APPROVED: Readonly<Record<ApprovedVia, string>> = {
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
    PASSKEY_WORDS[data.change],
    { kind: 'facts', facts: [{ label: 'Passkey', value: quoteUnlinked(data.passkeyName) }, ...placeAndTime(data)] },
    'If this was you, there is nothing to do.',
    'If it was not, somebody else is signed in as you. Sign out everywhere, delete the passkeys that you do not ' +
      'recognise, and tell an admin of your team.',
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
    'A sign-in that belongs to one device was used a second time. This happens when somebody has copied it. ' +
      'To be safe, we signed that device out; the copy no longer works.',
    { kind: 'facts', facts: [deviceFact(data.deviceName), ...placeAndTime(data)] },
    'Sign in on that device again when you need it. If you restored it from a backup, or copied its settings to ' +
      'another device, that was the reason. If not, somebody may have had access to that device: check it, ' +
      'look through your devices and passkeys, and tell an admin of your team.',
    toDevices(data),
  ])
}

/** What an email says about a key. */
type AnnouncedKey = {
  readonly name: string
  readonly prefix: string
  /** `@organization/name` */
  readonly team: string
  /** Null: all models of the team. */
  readonly models: readonly string[] | null
  readonly expiresAt: Date
}

export type KeyMade = Occurrence & {
  readonly change: 'created' | 'rotated'
  readonly key: AnnouncedKey
  /** The name of the service account that the key belongs to; null for a key of the person. */
  readonly serviceAccount: string | null
  /** The address of the person who made the key. */
  readonly madeBy: string
}

/** Tells that an API key was made, or replaced by a new one. The key itself is never in an email. */
export function keyMadeMail({ change, key, serviceAccount, madeBy, ...occurrence }: KeyMade): ComposedMail {
  const { title, subject } = KEY_HEADINGS[change]
  const owner = serviceAccount === null ? 'your account' : `the service account ${serviceAccount}`
  // The prefix tells two keys of one name apart.
  return composeMail({ title, subject: `${subject} ${key.prefix}: ${nameInSubject(key.name)}` }, [
    `Programs with this key of ${owner} can call the models of ${key.team}.`,
    {
      kind: 'facts',
      facts: [
        { label: 'Key', value: quoteUnlinked(key.name), note: `starts with ${key.prefix}` },
        { label: 'Made by', value: quoteUnlinked(madeBy) },
        { label: 'Models', value: toModelsText(key.models) },
        { label: 'Expires', value: toUtcText(key.expiresAt) },
        ...placeAndTime(occurrence),
      ],
    },
    'If you know about this, there is nothing to do.',
    serviceAccount === null ? IF_NOT_YOUR_KEY : IF_NOT_YOUR_TEAMS_KEY,
    serviceAccount === null
      ? toDevices(occurrence)
      : { kind: 'link', label: 'Keys of the team', address: `${occurrence.baseUrl}${pathOfTeam(key.team)}/keys` },
  ])
}

function toModelsText(models: readonly string[] | null): string {
  if (models === null) return 'all models of the team'
  return models.length > 2 ? `${models.length} of the team` : models.join(', ')
}

const KEY_HEADINGS = {
  created: { title: 'A new API key was created', subject: 'New API key' },
  rotated: { title: 'An API key was replaced by a new one', subject: 'API key replaced by' },
} as const

const IF_NOT_YOUR_KEY =
  'If not, somebody else is signed in as you. On the page below, sign out the device that you do not know, and say ' +
  'that it was not yours: this revokes its keys too. Then tell an admin of your team.'
const IF_NOT_YOUR_TEAMS_KEY =
  'If not, ask the person who created it. Any admin of the team can revoke it on the page below.'

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

function toDevices({ baseUrl }: Occurrence): EmailPart {
  return { kind: 'link', label: 'Your devices and keys', address: `${baseUrl}${PATHS.device}` }
}
