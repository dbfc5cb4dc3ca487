import type { Keyring } from '../../access/keyring.ts'
import type { Database } from '../../database/client.ts'
import type { OnCallerEnd } from '../../kernel/caller.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Logger } from '../../log.ts'
import { makeBrowserSessionStore } from '../browser-session/store.ts'
import type { OnUnknownCredential } from '../edge/unknown-credentials.ts'
import type { Notify } from '../mails/notify.ts'
import { makeAnswerTokens } from './answer.ts'
import { makeIssueTokens } from './issue.ts'
import { makeOpenSession } from './open.ts'
import { makeFindPresentedToken, makeRefreshSession } from './refresh.ts'
import { makeTokenHandlers } from './routes.ts'
import type { RefreshLifetimes } from './rules.ts'
import { makeSignOut } from './sign-out.ts'
import { makeDeviceSessionStore } from './store.ts'

type Needs = {
  readonly database: Database
  readonly keys: Omit<Keyring, 'publicKeys' | 'rotate'>
  /** The issuer of access tokens: the control plane's public address. */
  readonly issuer: string
  readonly lifetimes: RefreshLifetimes & { readonly accessTokenSeconds: number; readonly refreshReplaySeconds: number }
  readonly notify: Notify
  readonly onCallerEnd: OnCallerEnd
  readonly onUnknownCredential: OnUnknownCredential
  readonly clock: Clock
  readonly log: Logger
}

/**
 * Device sessions and their tokens: opening, issuing, refreshing, signing out. The other flows sign devices in and out
 * with it.
 */
export function makeTokenFlow(needs: Needs) {
  const { database, keys, issuer, lifetimes, notify, onCallerEnd, onUnknownCredential, clock } = needs
  const sessions = makeDeviceSessionStore(database)
  const { findRefreshKey } = keys
  const findPresentedToken = makeFindPresentedToken({ sessions, findRefreshKey, onUnknownCredential })
  const refreshSession = makeRefreshSession({ ...needs, sessions, findPresentedToken })
  const issueTokens = makeIssueTokens({ keys, issuer, accessTokenSeconds: lifetimes.accessTokenSeconds, clock })
  const answerTokens = makeAnswerTokens({ issueTokens, lifetimes })
  const signOut = makeSignOut({
    sessions,
    browserSessions: makeBrowserSessionStore(database),
    findPresentedToken,
    findPublicKey: keys.findPublicKey,
    issuer,
    onCallerEnd,
    onUnknownCredential,
    clock,
  })
  return {
    openSession: makeOpenSession({ sessions, lifetimes, notify, onCallerEnd }),
    refreshSession,
    issueTokens,
    answerTokens,
    signOut,
    handlers: makeTokenHandlers({ refreshSession, answerTokens, signOut }),
  }
}
