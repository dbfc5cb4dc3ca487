import { ApiError } from '../../http/errors.ts'
import type { Handlers } from '../../http/operation.ts'
import { actorOf, callerOf } from '../../http/request.ts'
import type { Clock } from '../../kernel/clock.ts'
import { toKeyInfo, toKeyRefusal, toNewKey } from './answers.ts'
import type { KeyChanges } from './changes.ts'
import type { ApiKeyStore } from './store.ts'

type Needs = { readonly keys: ApiKeyStore; readonly changes: KeyChanges; readonly clock: Clock }

type Operations = 'listApiKeys' | 'createApiKey' | 'rotateApiKey' | 'revokeApiKey'

/** The API keys of the caller. */
export function makeApiKeyHandlers({ keys, changes, clock }: Needs): Handlers<Operations> {
  return {
    async listApiKeys(req, res) {
      const { accountId } = callerOf(req)
      const listed = await keys.list({ accountId }, clock.now())
      res.status(200).json({ keys: listed.map(toKeyInfo) })
    },

    async createApiKey(req, res) {
      const caller = callerOf(req)
      const { name, team, models = [], expiresInDays: days } = req.body
      const holder = await changes.findHolder(caller, team)
      if (!holder) throw new ApiError('not_invited', { message: `You are not a member of ${team ?? caller.team}.` })
      const made = await changes.create(actorOf(req), holder, { name, models, days })
      if (made === 'not_found') throw new ApiError('not_invited')
      if (typeof made === 'string' || 'unknown' in made) throw toKeyRefusal(made)
      res.status(201).json(toNewKey(made))
    },

    async rotateApiKey(req, res) {
      const actor = actorOf(req)
      const { overlapSeconds, expiresInDays: days } = req.body ?? {}
      const scope = { accountId: actor.accountId }
      const made = await changes.rotate(actor, req.params.id, scope, { overlapSeconds, days })
      if (typeof made === 'string') throw toKeyRefusal(made)
      res.status(201).json(toNewKey(made))
    },

    async revokeApiKey(req, res) {
      const actor = actorOf(req)
      const revoked = await changes.revoke(actor, req.params.id, { accountId: actor.accountId })
      if (revoked === 'not_found') throw toKeyRefusal(revoked)
      res.status(200).json({ ok: true })
    },
  }
}
