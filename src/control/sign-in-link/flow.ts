import type { ApprovalMode } from '../../config/values.ts'
import type { Database } from '../../database/client.ts'
import type { FindInvitation } from '../../directory/memberships.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Logger } from '../../log.ts'
import type { Mailer } from '../../mail.ts'
import type { ControlLimits } from '../edge/rate-limits.ts'
import type { OnUnknownCredential } from '../edge/unknown-credentials.ts'
import { makeSignInLinks } from './request.ts'
import { makeSignInLinkHandlers } from './routes.ts'
import { makeSignInLinkStore } from './store.ts'

type Needs = {
  readonly database: Database
  readonly findInvitation: FindInvitation
  /** Null when email is not configured. */
  readonly mailer: Mailer | null
  readonly limits: ControlLimits['signInLinks']
  readonly inBackground: (work: Promise<void>) => void
  readonly approvalMode: ApprovalMode
  readonly baseUrl: string
  readonly onUnknownCredential: OnUnknownCredential
  readonly clock: Clock
  readonly log: Logger
}

/** The sign-in page and its links. The device page sends such a link too, to confirm that it is still the person. */
export function makeSignInLinkFlow(needs: Needs) {
  const { database, approvalMode, onUnknownCredential, clock, log } = needs
  const links = makeSignInLinkStore(database)
  const signInLinks = makeSignInLinks({ ...needs, links, ping: () => database.ping() })
  return {
    signInLinks,
    handlers: makeSignInLinkHandlers({
      links,
      signInLinks,
      approvalMode,
      onUnknownCredential,
      clock,
      log,
    }),
  }
}
