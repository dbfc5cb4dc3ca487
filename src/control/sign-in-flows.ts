import type { MembershipStore } from '../directory/memberships.ts'
import { makeDeviceLoginFlow } from './device-login/flow.ts'
import type { ControlLimits } from './edge/rate-limits.ts'
import type { OnUnknownCredential } from './edge/unknown-credentials.ts'
import type { ControlNeeds } from './needs.ts'
import { makePasskeyFlow } from './passkeys/flow.ts'
import { makeSignInLinkFlow } from './sign-in-link/flow.ts'
import { makeTokenFlow } from './tokens/flow.ts'

/** What several flows of the control plane use. */
export type SharedParts = {
  readonly limits: ControlLimits
  readonly memberships: MembershipStore
  readonly onUnknownCredential: OnUnknownCredential
}

/** Sessions and their tokens, and the flows that open a session: device logins, passkeys and sign-in links. */
export function makeSignInFlows(needs: ControlNeeds, { limits, memberships, onUnknownCredential }: SharedParts) {
  const { settings, database, mailer, keys, onCallerEnd, notify, clock, log } = needs
  const { baseUrl, login, tokens: lifetimes, rpId } = settings
  const { findInvitation } = memberships
  /** What each of the flows needs. */
  const shared = { database, onUnknownCredential, clock, log }
  const tokens = makeTokenFlow({ ...shared, keys, issuer: baseUrl, lifetimes, notify, onCallerEnd })
  const { openSession, answerTokens } = tokens
  const deviceLogin = makeDeviceLoginFlow({
    ...shared,
    findInvitation,
    mailer,
    openSession,
    answerTokens,
    settings: login,
    limits: limits.logins,
    baseUrl,
  })
  const passkeys = makePasskeyFlow({
    ...shared,
    findInvitation,
    openSession,
    answerTokens,
    notify,
    webauthn: { rpId, origin: new URL(baseUrl).origin },
    starts: limits.passkeyStarts,
  })
  const signInLinks = makeSignInLinkFlow({
    ...shared,
    findInvitation,
    mailer,
    baseUrl,
    approvalMode: login.approvalMode,
    limits: limits.signInLinks,
    inBackground: notify.inBackground,
  })
  return { tokens, deviceLogin, passkeys, signInLinks }
}
