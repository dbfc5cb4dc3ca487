import { unwrap } from '../../sdk/index.ts'
import type { ApiKeyInfo, NewApiKey } from '../../sdk/index.ts'
import { CommandError } from '../failures.ts'
import { withSameTarget } from '../same-target.ts'
import type { Deployment } from './deployment.ts'

type NewKeyFields = { name: string; models?: string[]; expiresInDays?: number }
type RotationFields = { overlapSeconds?: number; expiresInDays?: number }

/** Manages the API keys of the person who is signed in, or those of a service account. */
export type KeyOwner = {
  list(): Promise<readonly ApiKeyInfo[]>
  create(fields: NewKeyFields): Promise<NewApiKey>
  rotate(id: string, fields: RotationFields): Promise<NewApiKey>
  revoke(id: string): Promise<{ ok: boolean }>
}

type Wanted = {
  /** The deployment, where the command was given one. */
  readonly url?: string | undefined
  /** The name of a service account; undefined for the person's own keys. */
  readonly service: string | undefined
  /** The team of a new key, or of the service account; undefined for the team of the sign-in. */
  readonly team: string | undefined
}

/** Finds the owner of the keys. Throws when the team has no service account with this name. */
export async function findKeyOwner(deployment: Deployment, { url, service, team }: Wanted): Promise<KeyOwner> {
  if (service === undefined) return ownKeys(deployment, team)
  const { id } = await findServiceAccount(deployment, service, { url, team })
  return keysOfService(deployment, id, team ?? deployment.profile.team)
}

/** Finds a service account by its name. Throws when the team has none with this name. */
export async function findServiceAccount(
  deployment: Deployment,
  name: string,
  options: { readonly url?: string | undefined; readonly team?: string | undefined },
) {
  const team = options.team ?? deployment.profile.team
  const listed = deployment.control.GET('/v1/teams/{team}/service-accounts', { params: { path: { team } } })
  const { serviceAccounts } = await unwrap(listed)
  const found = serviceAccounts.find((account) => account.name === name)
  if (found) return found
  const list = withSameTarget('svc service-accounts', options)
  throw new CommandError(`The team ${team} has no service account named ${name}. Run: ${list}`)
}

/** The keys of the person who is signed in, of all teams or only of that one. A new one is for it. */
export function ownKeys({ control }: Deployment, team?: string): KeyOwner {
  return {
    async list() {
      const { keys } = await unwrap(control.GET('/v1/keys'))
      return keys.filter((key) => team === undefined || key.team === team)
    },
    create: (fields) => unwrap(control.POST('/v1/keys', { body: { ...fields, ...(team !== undefined && { team }) } })),
    rotate: (id, body) => unwrap(control.POST('/v1/keys/{id}/rotate', { params: { path: { id } }, body })),
    revoke: (id) => unwrap(control.DELETE('/v1/keys/{id}', { params: { path: { id } } })),
  }
}

function keysOfService({ control }: Deployment, id: string, team: string): KeyOwner {
  const all = '/v1/teams/{team}/service-accounts/{id}/keys'
  const params = { path: { team, id } }
  const paramsOf = (keyId: string) => ({ path: { team, id, keyId } })
  return {
    list: async () => (await unwrap(control.GET(all, { params }))).keys,
    create: (body) => unwrap(control.POST(all, { params, body })),
    rotate: (keyId, body) => unwrap(control.POST(`${all}/{keyId}/rotate`, { params: paramsOf(keyId), body })),
    revoke: (keyId) => unwrap(control.DELETE(`${all}/{keyId}`, { params: paramsOf(keyId) })),
  }
}
