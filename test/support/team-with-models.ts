import type { AuditEvent } from '../../generated/prisma/client.ts'
import { bearerOf, expectData, expectJson, expectOk, json, withMethod } from './requests.ts'
import type { TestService } from './service.ts'
import { startTeam } from './team.ts'
import type { Headers, TestTeam } from './team.ts'

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
  - { id: svc/fast, displayName: Fast, owner: svc, upstreamModel: fast-1, aliases: [quick], contextWindow: 200000 }
  - { id: svc/deep, displayName: Deep, owner: svc, upstreamModel: deep-1 }
  - { id: svc/hidden, displayName: Hidden, owner: svc, published: false }
`

export type NewKey = { readonly key: string; readonly info: { readonly id: string; readonly prefix: string } }

/** The same people in a service with models. Ada, the admin of `@acme/core`, is a member of the other team too. */
export type TeamWithModels = TestTeam & {
  /** The directory file that was applied at the start. */
  readonly directory: string
  /** Headers of the admin. */
  readonly ada: Headers
  /** Ada on a device that another device of hers approved by its code, which is no fresh sign-in. */
  readonly adaStale: Headers
  /** Sends a request of ada, or of the given caller; with a JSON body where there is one. */
  send(method: string, path: string, body?: object, by?: Headers): Promise<Response>
  /** Asks a model in the chat dialect. */
  chat(model: string, by?: Headers): Promise<Response>
  /** The audit events of one object, the oldest first. */
  auditOf(subjectId: string): Promise<AuditEvent[]>
  /** Creates a key of ada, or of the given caller. */
  createKey(fields?: object, by?: Headers): Promise<NewKey>
}

export async function startTeamWithModels(env: Readonly<Record<string, string>> = {}): Promise<TeamWithModels> {
  const team = await startTeam({ directory: DIRECTORY, env })
  const { service, admin: ada } = team
  const send: TeamWithModels['send'] = (method, path, body, by = ada) =>
    service.fetch(path, withMethod(method, by, body))
  return {
    ...team,
    directory: DIRECTORY,
    ada,
    adaStale: await approveByCode(service, ada),
    send,
    chat: (model, by) =>
      send('POST', '/v1/chat/completions', { model, messages: [{ role: 'user', content: 'Hello' }] }, by),
    auditOf: (subjectId) =>
      service.database.prisma.auditEvent.findMany({ where: { subjectId }, orderBy: { id: 'asc' } }),
    createKey: (fields = {}, by = ada) =>
      expectJson<NewKey>('The new key', service.fetch('/v1/keys', json({ name: 'opencode', ...fields }, by))),
  }
}

async function approveByCode(service: TestService, by: Headers): Promise<Headers> {
  const { deviceCode, userCode } = await service.startLogin('ada@example.com', { deviceId: 'second' })
  await expectOk('The approval by code', service.fetch('/device', json({ userCode }, by)))
  const tokens = await service.client.POST('/v1/auth/device/poll', { body: { deviceCode } })
  return bearerOf(expectData('The poll', tokens).accessToken)
}
