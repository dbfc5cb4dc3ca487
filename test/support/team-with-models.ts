import { bearerOf, expectData, expectJson, expectOk, json } from './requests.ts'
import { startService } from './service.ts'
import type { TestService } from './service.ts'

const DIRECTORY = `
organizations:
  - name: acme
    teams:
      - name: core
        models: [svc/fast, svc/deep, svc/hidden]
        defaultModel: svc/fast
        members: [{ email: ada@example.com, role: admin }, { email: member@example.com }]
      - name: other
        models: [svc/deep]
        members: [{ email: ada@example.com }, { email: stranger@example.com, role: admin }]
models:
  - { id: svc/fast, displayName: Fast, owner: svc, upstreamModel: fast-1, aliases: [quick] }
  - { id: svc/deep, displayName: Deep, owner: svc, upstreamModel: deep-1 }
  - { id: svc/hidden, displayName: Hidden, owner: svc, published: false }
`

export type NewKey = { readonly key: string; readonly info: { readonly id: string; readonly prefix: string } }

type Headers = Record<string, string>

/** A service with models where an admin and a member of `@acme/core` and an admin of another team are signed in. */
export type TeamWithModels = AsyncDisposable & {
  readonly service: TestService
  /** The directory file that was applied at the start. */
  readonly directory: string
  /** Headers of the callers. */
  readonly ada: Headers
  readonly member: Headers
  readonly stranger: Headers
  /** Ada on a device that another device of hers approved by its code, which is no fresh sign-in. */
  readonly adaStale: Headers
  /** Creates a key of ada, or of the given caller. */
  createKey(fields?: object, by?: Headers): Promise<NewKey>
}

export async function startTeamWithModels(env: Readonly<Record<string, string>> = {}): Promise<TeamWithModels> {
  const service = await startService({ directory: DIRECTORY, env })
  const signIn = async (email: string, team: string) => bearerOf((await service.signIn(email, { team })).accessToken)
  const ada = await signIn('ada@example.com', '@acme/core')
  return {
    service,
    directory: DIRECTORY,
    ada,
    member: await signIn('member@example.com', '@acme/core'),
    stranger: await signIn('stranger@example.com', '@acme/other'),
    adaStale: await approveByCode(service, ada),
    createKey: (fields = {}, by = ada) =>
      expectJson<NewKey>('The new key', service.fetch('/v1/keys', json({ name: 'opencode', ...fields }, by))),
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  }
}

async function approveByCode(service: TestService, by: Headers): Promise<Headers> {
  const { deviceCode, userCode } = await service.startLogin('ada@example.com', { deviceId: 'second' })
  await expectOk('The approval by code', service.fetch('/device', json({ userCode }, by)))
  const tokens = await service.client.POST('/v1/auth/device/poll', { body: { deviceCode } })
  return bearerOf(expectData('The poll', tokens).accessToken)
}
