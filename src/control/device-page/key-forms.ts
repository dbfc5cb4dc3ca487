import type { Request } from 'express'
import type { DeviceForm } from '../../../generated/openapi.ts'
import { ApiError } from '../../http/errors.ts'
import { actorOf, callerOf } from '../../http/request.ts'
import type { KeyChanges } from '../api-keys/changes.ts'
import { toKeyForm } from '../api-keys/key-form.ts'
import { KEY_REFUSALS } from '../pages/key-notices.ts'
import { toNumber } from '../request-fields.ts'
import type { PageContent } from './render.ts'

/** The content of the page that follows a form. */
export type FormOutcome = PageContent & { readonly waitSeconds?: number }

/** The forms of the caller's own API keys. */
export type OwnKeyForms = {
  create(req: Request, name: string, form: DeviceForm): Promise<FormOutcome>
  rotate(req: Request, keyId: string, form: DeviceForm): Promise<FormOutcome>
  revoke(req: Request, keyId: string): Promise<FormOutcome>
}

/** Makes the forms. Each answers with the content of the page that follows. */
export function makeOwnKeyForms({ changes }: { readonly changes: KeyChanges }): OwnKeyForms {
  const ownOf = (req: Request) => ({ accountId: callerOf(req).accountId })
  return {
    async create(req, name, form) {
      const { model, expiresInDays, formId } = form
      const holder = await changes.findHolder(callerOf(req))
      if (!holder) throw new ApiError('not_invited')
      const wanted = {
        name,
        models: model ? [model] : [],
        days: toNumber(expiresInDays),
        form: toKeyForm(req, formId),
      }
      const made = await changes.create(actorOf(req), holder, wanted)
      if (made === 'not_found') throw new ApiError('not_invited')
      if (typeof made === 'string') return { notice: KEY_REFUSALS[made], keyDraft: form }
      return 'unknown' in made ? { notice: 'unknown_model', keyDraft: form } : { madeKey: made }
    },

    async rotate(req, keyId, { expiresInDays, overlapSeconds, formId }) {
      const days = toNumber(expiresInDays)
      const wanted = { days, overlapSeconds: toNumber(overlapSeconds), form: toKeyForm(req, formId) }
      const made = await changes.rotate(actorOf(req), keyId, ownOf(req), wanted)
      return typeof made === 'string' ? { notice: KEY_REFUSALS[made] } : { madeKey: made, notice: 'key_rotated' }
    },

    async revoke(req, keyId) {
      const revoked = await changes.revoke(actorOf(req), keyId, ownOf(req))
      return { notice: revoked === 'revoked' ? 'key_revoked' : 'unknown_key' }
    },
  }
}
