import type { FindMembership } from '../../directory/memberships.ts'
import type { Actor, Caller, OnCallerEnd } from '../../kernel/caller.ts'
import type { Clock } from '../../kernel/clock.ts'
import { newApiKey, shownPrefixOf } from '../../kernel/credentials/api-key.ts'
import { cleanName } from '../../kernel/formats/clean-name.ts'
import { hashSecret } from '../../kernel/secret.ts'
import type { Secret } from '../../kernel/secret.ts'
import { parseTeamName } from '../../kernel/team-name.ts'
import type { Logger } from '../../log.ts'
import { isFresh } from '../fresh.ts'
import type { AnnounceKey } from './announce.ts'
import { keyOfForm } from './key-form.ts'
import type { KeyForm } from './key-form.ts'
import { expiryOf, findUnknownModels } from './rules.ts'
import type { RotationVerdict } from './rules.ts'
import { scopeOf } from './store.ts'
import type { ApiKeyStore, KeyHolder, KeyScope, ListedKey } from './store.ts'

/** What a person asks a new key to be. */
export type WantedKey = {
  readonly name: string
  /** Empty: all models of the team. */
  readonly models: readonly string[]
  readonly days: number | undefined
  /** A form makes one key, also when it is sent again. */
  readonly form?: KeyForm | undefined
}

/** How a key is rotated. */
export type WantedRotation = Pick<WantedKey, 'days' | 'form'> & { readonly overlapSeconds: number | undefined }

/** A key that was just made, with its secret. */
export type NewKey = { readonly key: Secret; readonly info: ListedKey }

/** Models that the team does not have, and those that it has. */
export type UnknownModels = { readonly unknown: readonly string[]; readonly models: readonly string[] }

/**
 * Changes API keys. Making one needs a fresh sign-in, because a stolen token must not become a permanent credential.
 * Refusals are values, because the API and the page answer them differently. Throws `unauthorized` when the session has
 * just ended.
 */
export type KeyChanges = {
  /** Where a person's new key belongs: to the named team, else to the team of the sign-in. Null: not a member of it. */
  findHolder(caller: Caller, team?: string): Promise<KeyHolder | null>
  create(
    actor: Actor,
    holder: KeyHolder,
    wanted: WantedKey,
  ): Promise<NewKey | 'reauthenticate' | 'invalid_name' | 'not_found' | 'sent_before' | 'too_many' | UnknownModels>
  rotate(
    actor: Actor,
    id: string,
    scope: KeyScope,
    wanted: WantedRotation,
  ): Promise<NewKey | 'reauthenticate' | Exclude<RotationVerdict, 'rotate'>>
  /** Needs no fresh sign-in: ending a key can only make the account safer. */
  revoke(actor: Actor, id: string, scope: KeyScope): Promise<'revoked' | 'not_found'>
}

type Needs = {
  readonly keys: ApiKeyStore
  readonly findMembership: FindMembership
  readonly onCallerEnd: OnCallerEnd
  readonly announce: AnnounceKey
  readonly clock: Clock
  readonly log: Logger
}

/** Makes the changes of API keys. Each is logged, and a new key is announced by email. */
export function makeKeyChanges({ keys, findMembership, onCallerEnd, announce, clock, log }: Needs): KeyChanges {
  return {
    async findHolder({ accountId, team: ownTeam }, team) {
      const name = parseTeamName(team ?? ownTeam)
      const membership = name && (await findMembership(name, accountId))
      return membership && { invitationId: membership.invitationId, teamId: membership.teamId }
    },

    async create(actor, holder, { name, models, days, form }) {
      const now = clock.now()
      if (!isFresh(actor, now)) return 'reauthenticate'
      const clean = cleanName(name)
      if (clean === null) return 'invalid_name'
      const ofTeam = models.length > 0 ? await keys.findModels(holder.teamId) : []
      const unknown = findUnknownModels(models, ofTeam)
      if (unknown.length > 0) return { unknown, models: ofTeam }
      const of = 'invitationId' in holder ? holder.invitationId : holder.serviceAccountId
      const { key, parts } = makeParts(now, days, form && keyOfForm(form, of))
      const given = { ...parts, name: clean, models: [...new Set(models)] }
      const created = await keys.create(actor, holder, given)
      if (typeof created === 'string') return created
      const { key: info, isNew } = created
      if (!isNew) return { key, info }
      const scope = scopeOf(holder, actor)
      log.info({ keyId: info.id, accountId: actor.accountId, ...scope }, 'api_key.created')
      announce('created', info, scope, actor)
      return { key, info }
    },

    async rotate(actor, id, scope, { overlapSeconds, days, form }) {
      const now = clock.now()
      if (!isFresh(actor, now)) return 'reauthenticate'
      const { key, parts } = makeParts(now, days, form && keyOfForm(form, id))
      const rotated = await keys.rotate(actor, id, scope, parts, overlapSeconds)
      if (typeof rotated === 'string') return rotated
      if (!rotated.isNew) return { key, info: rotated.key }
      if (rotated.hasEnded) onCallerEnd(id)
      log.info({ keyId: rotated.key.id, replaces: id, accountId: actor.accountId }, 'api_key.rotated')
      announce('rotated', rotated.key, scope, actor)
      return { key, info: rotated.key }
    },

    async revoke(actor, id, scope) {
      if (!(await keys.revoke(actor, id, scope, clock.now()))) return 'not_found'
      onCallerEnd(id)
      log.info({ keyId: id, accountId: actor.accountId }, 'api_key.revoked')
      return 'revoked'
    },
  }
}

/** The parts of a new key. `given`: the key and the id of its row; undefined for new ones. */
function makeParts(now: Date, days: number | undefined, given: ReturnType<typeof keyOfForm> | undefined) {
  const { id, key } = given ?? { id: undefined, key: newApiKey() }
  const hash = hashSecret(key)
  return { key, parts: { id, hash, prefix: shownPrefixOf(key), createdAt: now, expiresAt: expiryOf(now, days) } }
}
