import { linkOf, SIGN_IN_SUBJECT } from './mailbox.ts'
import { tokenOf } from './people.ts'
import { expectOk, form } from './requests.ts'
import type { TestService } from './service.ts'

/** Asks for a sign-in link on the sign-in page; returns the token of the link in the email. */
export async function requestSignInLink(
  service: TestService,
  email: string,
  headers: Record<string, string> = {},
): Promise<string> {
  const before = service.mailbox.mails.filter(
    ({ to, subject }) => to.includes(email) && subject.startsWith(SIGN_IN_SUBJECT),
  )
  await expectOk('The request of a link', service.fetch('/sign-in', form({ email }, headers)))
  const mails = await service.mailbox.waitFor(email, SIGN_IN_SUBJECT, before.length + 1)
  const newest = mails.at(-1)
  if (!newest) throw new Error('No sign-in link arrived.')
  return tokenOf(linkOf(newest))
}

/** Sends the form behind a sign-in link, as a browser does, and does not follow the redirect. */
export function consumeSignInLink(
  service: TestService,
  token: string,
  headers: Record<string, string> = {},
  fields: Record<string, string> = {},
): Promise<Response> {
  return service.fetch('/sign-in/email', { ...form({ token, ...fields }, headers), redirect: 'manual' })
}
