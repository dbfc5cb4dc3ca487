import { linkOf } from './mailbox.ts'
import type { TestService } from './service.ts'

export type People = {
  /** For `startService({ directory })`: one team with all of them. */
  readonly directory: string
  /** The address of somebody whom no case has used yet. */
  next(): string
}

/** Members of `@acme/core`, so that each case of a shared service has a person of its own. */
export function people(count = 60): People {
  const emails = Array.from({ length: count }, (_, index) => `person-${index + 1}@example.com`)
  let used = 0
  return {
    directory: directoryOf(emails),
    next() {
      const email = emails[used++]
      if (email === undefined) throw new Error(`There are only ${count} people.`)
      return email
    },
  }
}

/** A directory file with these members of `@acme/core`, and `@acme/other` with one stranger. */
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

/** The token of the newest mail to an address. */
export function mailTokenOf(service: TestService, email: string): string {
  return tokenOf(linkOf(service.mailbox.newest(email)))
}

/** The token of a link to the confirmation page. */
export function tokenOf(link: string | URL): string {
  return new URL(link).searchParams.get('token') ?? ''
}

/** Signs a browser in by mail; the value of its `Cookie` header. */
export async function signInBrowser(service: TestService, email: string): Promise<string> {
  await service.startLogin(email, { deviceId: 'browser-login' })
  return cookiesOf(await service.approveByMail(email))
}

/** What a browser would send back of the cookies of an answer. */
export function cookiesOf(response: Response): string {
  return response.headers
    .getSetCookie()
    .map((cookie) => cookie.split(';')[0])
    .join('; ')
}
