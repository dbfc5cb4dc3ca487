import { ApiError } from '../../http/errors.ts'
import type { Handlers } from '../../http/operation.ts'
import type { ActorRequest } from '../../http/request.ts'
import type { Clock } from '../../kernel/clock.ts'
import { toKeyInfo, toKeyRefusal, toNewKey } from '../api-keys/answers.ts'
import type { KeyChanges } from '../api-keys/changes.ts'
import type { ApiKeyStore } from '../api-keys/store.ts'
import type { FindTeamAdmin } from '../team-access.ts'
import type { ServiceAccountChanges } from './changes.ts'
import { MAX_SERVICE_ACCOUNTS } from './store.ts'
import type { ListedServiceAccount, ServiceAccountRefusal, ServiceAccountStore } from './store.ts'

type Needs = {
  readonly serviceAccounts: ServiceAccountStore
  readonly keys: ApiKeyStore
  readonly changes: KeyChanges
  readonly accountChanges: ServiceAccountChanges
  readonly findTeamAdmin: FindTeamAdmin
  readonly clock: Clock
}

type Operations =
  | 'listServiceAccounts'
  | 'createServiceAccount'
  | 'deleteServiceAccount'
  | 'listServiceAccountKeys'
  | 'createServiceAccountKey'
  | 'rotateServiceAccountKey'
  | 'revokeServiceAccountKey'

/** The service accounts of a team and their keys, for its admins. */
export function makeServiceAccountHandlers(needs: Needs): Handlers<Operations> {
  const { serviceAccounts, accountChanges, keys, changes, findTeamAdmin, clock } = needs

  /** The admin, and the keys of the service account that a path names. Throws when the caller may not change them. */
  async function findScope(req: ActorRequest & { readonly params: { readonly team: string; readonly id: string } }) {
    const { team, id } = req.params
    const admin = await findTeamAdmin(team, req)
    const { teamId } = admin
    if (!(await serviceAccounts.exists(id, teamId))) throw unknownAccount()
    return { admin, scope: { serviceAccountId: id, teamId } }
  }

  return {
    async listServiceAccounts(req, res) {
      const { teamId } = await findTeamAdmin(req.params.team, req)
      const listed = await serviceAccounts.list(teamId, clock.now())
      res.status(200).json({ serviceAccounts: listed.map(toAnswer) })
    },

    async createServiceAccount(req, res) {
      const admin = await findTeamAdmin(req.params.team, req)
      const made = await accountChanges.create(admin, req.body.name)
      if (typeof made === 'string') throw new ApiError('conflict', { message: REFUSALS[made] })
      res.status(201).json(toAnswer(made))
    },

    async deleteServiceAccount(req, res) {
      const admin = await findTeamAdmin(req.params.team, req)
      if (!(await accountChanges.remove(admin, req.params.id))) throw unknownAccount()
      res.status(200).json({ ok: true })
    },

    async listServiceAccountKeys(req, res) {
      const { scope } = await findScope(req)
      const listed = await keys.list(scope, clock.now())
      res.status(200).json({ keys: listed.map(toKeyInfo) })
    },

    async createServiceAccountKey(req, res) {
      const { admin, scope } = await findScope(req)
      const { name, models = [], expiresInDays: days } = req.body
      const made = await changes.create(admin, scope, { name, models, days })
      if (made === 'not_found') throw unknownAccount()
      if (typeof made === 'string' || 'unknown' in made) throw toKeyRefusal(made)
      res.status(201).json(toNewKey(made))
    },

    async rotateServiceAccountKey(req, res) {
      const { admin, scope } = await findScope(req)
      const { overlapSeconds, expiresInDays: days } = req.body ?? {}
      const made = await changes.rotate(admin, req.params.keyId, scope, { overlapSeconds, days })
      if (typeof made === 'string') throw toKeyRefusal(made)
      res.status(201).json(toNewKey(made))
    },

    async revokeServiceAccountKey(req, res) {
      const { admin, scope } = await findScope(req)
      if ((await changes.revoke(admin, req.params.keyId, scope)) === 'not_found') throw toKeyRefusal('not_found')
      res.status(200).json({ ok: true })
    },
  }
}

const REFUSALS: Readonly<Record<ServiceAccountRefusal, string>> = {
  exists: 'The team has a service account with this name.',
  too_many: `The team has ${MAX_SERVICE_ACCOUNTS} service accounts, which is the limit. Delete one first.`,
}

function unknownAccount(): ApiError {
  return new ApiError('not_found', { message: 'The team has no service account with this id.' })
}

function toAnswer({ createdAt, lastUsedAt, ...account }: ListedServiceAccount) {
  return { ...account, createdAt: createdAt.toISOString(), lastUsedAt: lastUsedAt?.toISOString() ?? null }
}
