import { mailToken } from './mailbox.ts'
import { expectOk, form } from './requests.ts'
import type { TestService } from './service.ts'

export type People = {
  /** A directory file, for `startService({ directory })`, with one team of all these people. */
  readonly directory: string
  /** An address that no other test has used; throws when all are used. */
  next(): string
}

/** Members of `@acme/core`, so that tests that share a service do not share a person. */
export function people(count = 60): People {
  const emails = Array.from({ length: count }, (_, index) => `person-${index + 1}@example.com`)
  let used = 0
  return {
    directory: directoryOf(emails),
    next() {
      const email = emails[used++]
      if (email === undefined) throw new Error(`All ${count} people are used; ask people() for more.`)
      return email
    },
  }
}

/** A directory file with these members of `@acme/core`, and one other person in `@acme/other`. */
export function directoryOf(emails: readonly string[]): string {
  return `
organizations:
  - name: acme
    teams:
      - name: core
        defaultModel: svc/fast
        models: [svc/fast]
        members: [${emails.map((email) => `{ email: '${email}' }`).join(', ')}]
      - name: other
        models: []
        members: [{ email: stranger@example.com }]
models:
  - { id: svc/fast, displayName: Fast, owner: svc, backendModel: 'qwen3:8b' }
`
}

/** The token in the newest approval email to an address. */
export function mailTokenOf(service: TestService, email: string): string {
  return mailToken(service.mailbox.newest(email))
}

/** The token of a link to the confirmation page. */
export function tokenOf(link: string | URL): string {
  return new URL(link).searchParams.get('token') ?? ''
}

/** Signs a browser in by the link of an email; returns the value of its `Cookie` header. */
export async function signInBrowser(
  service: TestService,
  email: string,
  headers: Record<string, string> = {},
): Promise<string> {
  await service.startLogin(email, { deviceId: 'browser-login' })
  const consume = form({ token: mailTokenOf(service, email) }, headers)
  return cookiesOf(await expectOk('The approval by email', service.fetch('/v1/auth/magic/consume', consume)))
}

/** The `Cookie` header that a browser would send after this answer. */
export function cookiesOf(response: Response): string {
  return response.headers
    .getSetCookie()
    .map((cookie) => cookie.split(';')[0])
    .join('; ')
}
