import type { Secret } from '../../kernel/secret.ts'
import { toUtcText, toUtcTimeOfDay } from '../../kernel/utc-text.ts'
import { letter, type Mail, unlinked } from './letter.ts'

export type ApproveLogin = {
  /** The whole address of the confirmation page, built from the configured base URL. */
  readonly link: Secret
  /** Null where the page has the code typed: then the device alone may show it. */
  readonly userCode: string | null
  /** As the device reported it, cleaned. */
  readonly deviceName: string
  readonly startIp: string
  readonly startedAt: Date
  readonly expiresAt: Date
  /** `@organization/name` */
  readonly team: string
}

/** Asks the owner of the address to approve a login. The link opens a page that asks once more. */
export function approveLoginMail(login: ApproveLogin): Mail {
  return letter('Approve this sign-in', [
    { kind: 'words', words: `A device wants to sign in to ${login.team} with your e-mail address.` },
    codePart(login.userCode),
    {
      kind: 'facts',
      facts: [
        { label: 'Device', value: unlinked(login.deviceName), note: 'reported by the device' },
        { label: 'Place', value: login.startIp, note: 'IP address' },
        { label: 'Started', value: toUtcText(login.startedAt) },
      ],
    },
    { kind: 'words', words: warning(login.userCode) },
    { kind: 'link', label: 'Review this sign-in', address: login.link.reveal() },
    { kind: 'words', words: `The link works once, until ${toUtcTimeOfDay(login.expiresAt)}.` },
    {
      kind: 'words',
      words: 'If it was not you, press Deny on that page or ignore this mail: nobody is signed in without you.',
    },
  ])
}

function warning(userCode: string | null): string {
  const code = userCode ? 'the code matches your screen' : 'the code is on your own screen'
  return `Only approve if you started this sign-in and ${code}. Nobody from support will ask you to.`
}

function codePart(userCode: string | null) {
  return userCode
    ? ({ kind: 'code', label: 'Compare this code with the one on your device', code: userCode } as const)
    : ({
        kind: 'words',
        words: 'The page will ask for the code that your device shows. It is not in this mail.',
      } as const)
}
