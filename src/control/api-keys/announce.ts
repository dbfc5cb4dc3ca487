import type { FindEmail } from '../../directory/memberships.ts'
import type { RateLimit } from '../../http/rate-limit.ts'
import type { Actor } from '../../kernel/caller.ts'
import type { Logger } from '../../log.ts'
import type { Notify } from '../mails/notify.ts'
import type { ApiKeyStore, KeyScope, ListedKey } from './store.ts'

/**
 * Tells people by email, in the background, that a key was made: the person whose key it is, or every admin of the team
 * for a key of a service account.
 */
export type AnnounceKey = (change: 'created' | 'rotated', key: ListedKey, scope: KeyScope, actor: Actor) => void

type Needs = {
  readonly notify: Pick<Notify, 'keyMade' | 'inBackground'>
  readonly keys: Pick<ApiKeyStore, 'findOwner'>
  readonly findEmail: FindEmail
  /** Emails about keys to one address. They do not count as sign-in emails, which they must not use up. */
  readonly mails: RateLimit
  readonly log: Logger
}

/** Makes the function. An address that has got too many of these emails gets none. */
export function makeAnnounceKey({ notify, keys, findEmail, mails, log }: Needs): AnnounceKey {
  async function announce(change: 'created' | 'rotated', key: ListedKey, scope: KeyScope, actor: Actor) {
    const { emails, serviceAccount } = await keys.findOwner(scope)
    const madeBy = await findEmail(actor.accountId)
    for (const email of emails) {
      if ((await mails.tryTake(email)) > 0) continue
      notify.keyMade(email, { change, key, serviceAccount, madeBy, at: key.createdAt, ip: actor.ip })
    }
  }

  return (change, key, scope, actor) =>
    notify.inBackground(
      announce(change, key, scope, actor).catch((err: unknown) => {
        log.warn({ err, keyId: key.id }, 'api_key.notice_failed')
      }),
    )
}
