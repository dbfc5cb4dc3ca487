import type { Database } from '../../database/client.ts'
import type { FindInvitation } from '../../directory/memberships.ts'
import type { RateLimit } from '../../http/rate-limit.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Logger } from '../../log.ts'
import { makeBrowserSessionStore } from '../browser-session/store.ts'
import type { OnUnknownCredential } from '../edge/unknown-credentials.ts'
import type { Notify } from '../mails/notify.ts'
import type { AnswerTokens } from '../tokens/answer.ts'
import type { OpenSession } from '../tokens/open.ts'
import { makeChallenges } from './challenges.ts'
import { makePasskeyChanges } from './changes.ts'
import { makePasskeyLogin } from './login.ts'
import { makePasskeyRegistration } from './registration.ts'
import { makePasskeyHandlers } from './routes.ts'
import { makePasskeyStore } from './store.ts'
import { makeVerifyPasskey } from './verify.ts'
import type { Webauthn } from './webauthn.ts'

type Needs = {
  readonly database: Database
  readonly findInvitation: FindInvitation
  readonly openSession: OpenSession
  readonly answerTokens: AnswerTokens
  readonly notify: Notify
  readonly webauthn: Webauthn
  /** Sign-ins that one network starts. */
  readonly starts: RateLimit
  readonly onUnknownCredential: OnUnknownCredential
  readonly clock: Clock
  readonly log: Logger
}

/** Passkeys: registering, signing in, and managing one's own. The device page changes passkeys too. */
export function makePasskeyFlow(needs: Needs) {
  const { database, findInvitation, openSession, answerTokens, notify, webauthn, starts, onUnknownCredential } = needs
  const { clock, log } = needs
  const passkeys = makePasskeyStore(database)
  const challenges = makeChallenges({ database, clock })
  const changes = makePasskeyChanges({ passkeys, notify, clock })
  const registration = makePasskeyRegistration({ passkeys, challenges, webauthn, notify, clock, log })
  const login = makePasskeyLogin({
    challenges,
    browserSessions: makeBrowserSessionStore(database),
    verifyPasskey: makeVerifyPasskey({ passkeys, challenges, webauthn, onUnknownCredential, clock, log }),
    findInvitation,
    openSession,
    rpId: webauthn.rpId,
    clock,
    log,
  })
  const handlers = makePasskeyHandlers({ passkeys, registration, login, changes, answerTokens, starts })
  return { changes, handlers }
}
