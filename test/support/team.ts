import { bearerOf, expectJson, json } from './requests.ts'
import { startService } from './service.ts'
import type { TestService } from './service.ts'

export const INVITATIONS_PATH = '/v1/teams/%40acme%2Fcore/invitations'

const DIRECTORY = `
organizations:
  - name: acme
    teams:
      - name: core
        models: []
        members: [{ email: ada@example.com, role: admin }, { email: member@example.com }]
      - name: other
        models: []
        members: [{ email: stranger@example.com, role: admin }]
models: []
`

/** The headers of a caller. */
export type Headers = Record<string, string>

type Send = (path: string, init?: RequestInit) => Promise<Response>

/** A service where an admin and a member of `@acme/core` and an admin of another team are signed in. */
export type TestTeam = AsyncDisposable & {
  readonly service: TestService
  /** Headers of the callers. */
  readonly admin: Headers
  readonly member: Headers
  readonly stranger: Headers
  asAdmin: Send
  asMember: Send
  asStranger: Send
  /** Invites an address to `@acme/core`; returns the invitation's id. */
  invite(email: string): Promise<string>
}

type Options = { readonly directory?: string; readonly env?: Readonly<Record<string, string>> }

/** Starts the service. A directory of the caller must have the same people in the same teams. */
export async function startTeam({ directory = DIRECTORY, env = {} }: Options = {}): Promise<TestTeam> {
  const service = await startService({ directory, env })
  const signIn = async (email: string, team: string) => bearerOf((await service.signIn(email, { team })).accessToken)
  const [admin, member, stranger] = await Promise.all([
    signIn('ada@example.com', '@acme/core'),
    signIn('member@example.com', '@acme/core'),
    signIn('stranger@example.com', '@acme/other'),
  ])
  const as =
    (by: Headers): Send =>
    (path, init = {}) =>
      service.fetch(path, { ...init, headers: { ...(init.headers as Headers | undefined), ...by } })
  const asAdmin = as(admin)
  return {
    service,
    admin,
    member,
    stranger,
    asAdmin,
    asMember: as(member),
    asStranger: as(stranger),
    async invite(email) {
      return (await expectJson<{ id: string }>('The invitation', asAdmin(INVITATIONS_PATH, json({ email })))).id
    },
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  }
}
