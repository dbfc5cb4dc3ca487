import { toUtcText, toUtcTimeOfDay } from '../../kernel/formats/utc-text.ts'
import type { Secret } from '../../kernel/secret.ts'
import { composeMail } from './compose.ts'
import type { ComposedMail } from './compose.ts'

export type SignInLinkMail = {
  /** The address of the page that asks, built from the configured base URL. */
  readonly link: Secret
  /** The public address of the deployment. */
  readonly baseUrl: string
  /** The IP address that asked for the link. */
  readonly requestIp: string
  readonly requestedAt: Date
  readonly expiresAt: Date
}

/** Carries a link that signs in the browser that opens it. The link opens a page; opening it changes nothing. */
export function signInLinkMail({ link, baseUrl, requestIp, requestedAt, expiresAt }: SignInLinkMail): ComposedMail {
  const { host } = new URL(baseUrl)
  const subject = `Your sign-in link for ${host}, requested at ${toUtcTimeOfDay(requestedAt)}`
  return composeMail({ subject, title: 'Sign in to svc' }, [
    'Open this link in the browser that you want to sign in. It shows a page with a button.',
    { kind: 'link', label: 'Sign in', address: link.reveal() },
    `The link works once, until ${toUtcTimeOfDay(expiresAt)}.`,
    {
      kind: 'facts',
      facts: [
        { label: 'Place', value: requestIp, note: 'IP address of the browser that asked' },
        { label: 'Time', value: toUtcText(requestedAt) },
      ],
    },
    'If you did not ask for it, ignore this email. Nobody is signed in without you. Do not send the link to ' +
      'anybody. Nobody from support will ask for it.',
  ])
}
