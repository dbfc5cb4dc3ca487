import type { MembershipStore } from '../directory/memberships.ts'
import type { RateLimit } from '../http/rate-limit.ts'
import { makeAnnounceKey } from './api-keys/announce.ts'
import { makeKeyChanges } from './api-keys/changes.ts'
import { makeApiKeyHandlers } from './api-keys/routes.ts'
import { makeApiKeyStore } from './api-keys/store.ts'
import type { ControlNeeds } from './needs.ts'
import { makeServiceAccountChanges } from './service-accounts/changes.ts'
import { makeServiceAccountHandlers } from './service-accounts/routes.ts'
import { makeServiceAccountStore } from './service-accounts/store.ts'
import { makeFindTeamAdmin } from './team-access.ts'

type Needs = Pick<ControlNeeds, 'database' | 'notify' | 'onCallerEnd' | 'clock' | 'log'> & {
  readonly memberships: Pick<MembershipStore, 'findMembership' | 'findEmail'>
  /** Emails about keys to one address. */
  readonly mails: RateLimit
}

/** The API keys of people and of service accounts. Pages list and change keys too. */
export function makeKeyFlows({ database, memberships, notify, mails, onCallerEnd, clock, log }: Needs) {
  const { findMembership, findEmail } = memberships
  const findTeamAdmin = makeFindTeamAdmin(findMembership)
  const keys = makeApiKeyStore(database)
  const announce = makeAnnounceKey({ notify, keys, findEmail, mails, log })
  const changes = makeKeyChanges({ keys, findMembership, onCallerEnd, announce, clock, log })
  const serviceAccounts = makeServiceAccountStore(database)
  const accountChanges = makeServiceAccountChanges({ serviceAccounts, onCallerEnd, clock, log })
  return {
    keys,
    changes,
    serviceAccounts,
    accountChanges,
    handlers: {
      ...makeApiKeyHandlers({ keys, changes, clock }),
      ...makeServiceAccountHandlers({ serviceAccounts, accountChanges, keys, changes, findTeamAdmin, clock }),
    },
  }
}
