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

type Send = (path: string, init?: RequestInit) => Promise<Response>

/** A service where an admin and a member of `@acme/core` and an admin of another team are signed in. */
export type TestTeam = AsyncDisposable & {
  readonly service: TestService
  /** Headers of the callers. */
  readonly admin: Readonly<Record<string, string>>
  readonly member: Readonly<Record<string, string>>
  readonly stranger: Readonly<Record<string, string>>
  asAdmin: Send
  asMember: Send
  asStranger: Send
  /** Invites an address to `@acme/core`; returns the invitation's id. */
  invite(email: string): Promise<string>
}

export async function startTeam(): Promise<TestTeam> {
  const service = await startService({ directory: DIRECTORY })
  const signIn = async (email: string) => bearerOf((await service.signIn(email)).accessToken)
  const [admin, member, stranger] = await Promise.all([
    signIn('ada@example.com'),
    signIn('member@example.com'),
    signIn('stranger@example.com'),
  ])
  const as =
    (by: Record<string, string>): Send =>
    (path, init = {}) =>
      service.fetch(path, { ...init, headers: { ...(init.headers as Record<string, string> | undefined), ...by } })
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
