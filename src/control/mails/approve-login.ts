import { toUtcText, toUtcTimeOfDay } from '../../kernel/formats/utc-text.ts'
import type { Secret } from '../../kernel/secret.ts'
import { UNNAMED_DEVICE } from '../devices/device-name.ts'
import { composeMail, deviceFact, nameInSubject } from './compose.ts'
import type { ComposedMail, EmailPart } from './compose.ts'

export type ApproveLogin = {
  /** The address of the confirmation page, built from the configured base URL. */
  readonly link: Secret
  /** Null in approval mode `code`: the person types the code of the device's screen, so the email must not show it. */
  readonly userCode: string | null
  /** As the device reported it, cleaned. */
  readonly deviceName: string
  readonly startIp: string
  readonly startedAt: Date
  readonly expiresAt: Date
  /** `@organization/name` */
  readonly team: string
}

/** Asks the owner of the address to approve a login. The link opens a page; opening it approves nothing. */
export function approveLoginMail(login: ApproveLogin): ComposedMail {
  const which = login.userCode ? `sign-in ${login.userCode}` : 'a sign-in'
  const device = login.deviceName === UNNAMED_DEVICE ? 'an unnamed device' : nameInSubject(login.deviceName)
  const subject = `Approve ${which} on ${device}`
  return composeMail({ subject, title: 'Approve this sign-in' }, [
    `A device wants to sign in to ${login.team} with your email address.`,
    codePart(login.userCode),
    {
      kind: 'facts',
      facts: [
        deviceFact(login.deviceName),
        { label: 'Place', value: login.startIp, note: 'IP address' },
        { label: 'Started', value: toUtcText(login.startedAt) },
      ],
    },
    warning(login.userCode),
    { kind: 'link', label: 'Review this sign-in', address: login.link.reveal() },
    `The link works once, until ${toUtcTimeOfDay(login.expiresAt)}.`,
    'If it was not you, press Deny on that page or ignore this email: nobody is signed in without you.',
  ])
}

function warning(userCode: string | null): string {
  const code = userCode ? 'the code matches your screen' : 'the code is on your own screen'
  return `Only approve if you started this sign-in and ${code}. Nobody from support will ask you to.`
}

function codePart(userCode: string | null): EmailPart {
  return userCode
    ? { kind: 'code', label: 'Compare this code with the one on your device', code: userCode }
    : 'The page will ask for the code that your device shows. It is not in this email.'
}
