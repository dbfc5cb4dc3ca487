import type { Database } from '../../database/client.ts'
import type { FindInvitation } from '../../directory/memberships.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Logger } from '../../log.ts'
import type { Mailer } from '../../mail.ts'
import type { OnUnknownCredential } from '../edge/unknown-credentials.ts'
import type { AnswerTokens } from '../tokens/answer.ts'
import type { OpenSession } from '../tokens/open.ts'
import { makePollLogin } from './poll.ts'
import { makeDeviceLoginHandlers } from './routes.ts'
import { makeStartLogin } from './start.ts'
import type { LoginSettings, StartLimits } from './start.ts'
import { makeDeviceLoginStore } from './store.ts'

type Needs = {
  readonly database: Database
  readonly findInvitation: FindInvitation
  /** Null when email is not configured. */
  readonly mailer: Mailer | null
  readonly openSession: OpenSession
  readonly answerTokens: AnswerTokens
  readonly settings: LoginSettings & { readonly pollIntervalSeconds: number }
  readonly limits: StartLimits
  readonly onUnknownCredential: OnUnknownCredential
  /** The control plane's public address, for links. */
  readonly baseUrl: string
  readonly clock: Clock
  readonly log: Logger
}

/**
 * How a device signs in: it starts a login and polls until a person has approved it. The OAuth flow uses the same two
 * steps.
 */
export function makeDeviceLoginFlow(needs: Needs) {
  const { database, findInvitation, mailer, openSession, answerTokens, settings, limits, baseUrl } = needs
  const { onUnknownCredential, clock, log } = needs
  const { pollIntervalSeconds } = settings
  const logins = makeDeviceLoginStore(database)
  const startLogin = makeStartLogin({ logins, findInvitation, mailer, settings, limits, baseUrl, clock, log })
  const pollLogin = makePollLogin({ logins, openSession, pollIntervalSeconds, onUnknownCredential, clock })
  return {
    startLogin,
    pollLogin,
    handlers: makeDeviceLoginHandlers({ startLogin, pollLogin, answerTokens, pollIntervalSeconds }),
  }
}
