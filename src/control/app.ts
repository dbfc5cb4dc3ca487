import { makeMembershipStore } from '../directory/memberships.ts'
import { contractOf } from '../http/contract.ts'
import type { RoleRoutes } from '../http/role.ts'
import { openAgentSessionsFlow } from './agent-sessions/flow.ts'
import { makeConsoleFlow } from './console/flow.ts'
import { makeDevicePageFlow } from './device-page/flow.ts'
import { makeDevicesFlow } from './devices/flow.ts'
import { makeControlSchemes } from './edge/callers.ts'
import { makeControlEdge } from './edge/edge.ts'
import { makeControlLimits } from './edge/rate-limits.ts'
import { makeUnknownCredentials } from './edge/unknown-credentials.ts'
import { makeKeyFlows } from './key-flows.ts'
import { makeMagicLinkHandlers } from './magic-link/routes.ts'
import type { ControlNeeds } from './needs.ts'
import { makeOAuthHandlers } from './oauth/routes.ts'
import { makePageHandlers } from './pages/routes.ts'
import { makeSignInFlows } from './sign-in-flows.ts'
import type { SharedParts } from './sign-in-flows.ts'
import { makeTeamFlows } from './team-flows.ts'
import { makeKeySetHandlers } from './tokens/key-set.ts'

export type ControlPlane = {
  /** Its operations, for the app. */
  readonly routes: RoleRoutes
  /** Ends the streams that would not end by themselves. */
  endStreams(): void
  close(): void
}

/** Opens the control plane: its flows, the callers that they accept, and what runs before them. */
export function openControlPlane(needs: ControlNeeds): ControlPlane {
  const { settings, database, keys, clock } = needs
  const { baseUrl, allowedOrigins } = settings
  const contract = contractOf(needs.contract, 'control-plane')
  const unknownCredentials = makeUnknownCredentials({ perMinute: settings.signInLimits.startsPerIp })
  const onUnknownCredential = unknownCredentials.count
  const memberships = makeMembershipStore(database)
  const limits = makeControlLimits({
    settings: settings.signInLimits,
    accountRequestsPerMinute: settings.callLimits.accountRequestsPerMinute,
    sendsMail: settings.mail?.kind === 'smtp',
    redis: needs.redis,
  })
  const agentSessions = openAgentSessionsFlow({ ...needs, memberships })
  const routes = {
    contract,
    handlers: {
      ...makeHandlers(needs, { memberships, limits, onUnknownCredential }),
      ...agentSessions.handlers,
    },
    schemes: makeControlSchemes({
      database,
      findPublicKey: keys.findPublicKey,
      issuer: baseUrl,
      onUnknownCredential,
      clock,
    }),
    explainToken: needs.explainToken,
    nameAllMistakes: true,
    firstOperations: [],
    ...makeControlEdge({ baseUrl, allowedOrigins, unknownCredentials, accounts: limits.accounts }),
  }
  return { routes, endStreams: agentSessions.endStreams, close: agentSessions.close }
}

/** The handlers of the flows that hold nothing open. */
function makeHandlers(needs: ControlNeeds, shared: SharedParts) {
  const { memberships, limits, onUnknownCredential } = shared
  const { settings, database, keys, notify, onCallerEnd, clock, log } = needs
  const { baseUrl, gatewayUrl, login, tokens: lifetimes, rpId } = settings
  const { findEmail } = memberships

  const { tokens, deviceLogin, passkeys, signInLinks } = makeSignInFlows(needs, shared)
  const { refreshSession, issueTokens, signOut } = tokens
  const devices = makeDevicesFlow({ database, signOut, findEmail, notify, onCallerEnd, clock, log })
  const apiKeys = makeKeyFlows({ database, memberships, notify, mails: limits.keyNotices, onCallerEnd, clock, log })
  const devicePage = makeDevicePageFlow({
    database,
    findEmail,
    passkeyChanges: passkeys.changes,
    keys: apiKeys.keys,
    keyChanges: apiKeys.changes,
    signInLinks: signInLinks.signInLinks,
    deviceChanges: devices.changes,
    signOut,
    limits: limits.userCodes,
    rpId,
    clock,
    log,
  })
  const team = makeTeamFlows({ ...needs, memberships, mails: limits.invitationMails, gatewayUrl })
  const oauth = makeOAuthHandlers({
    startLogin: deviceLogin.startLogin,
    pollLogin: deviceLogin.pollLogin,
    refreshSession,
    issueTokens,
    signOut,
    pollIntervalSeconds: login.pollIntervalSeconds,
    loginSeconds: login.loginSeconds,
    accessTokenSeconds: lifetimes.accessTokenSeconds,
    baseUrl,
    gatewayUrl,
  })
  return {
    ...tokens.handlers,
    ...deviceLogin.handlers,
    ...makeMagicLinkHandlers({
      database,
      approvalMode: login.approvalMode,
      onUnknownCredential,
      clock,
      log,
    }),
    ...passkeys.handlers,
    ...signInLinks.handlers,
    ...devices.handlers,
    ...devicePage.handlers,
    ...oauth,
    ...team.handlers,
    ...apiKeys.handlers,
    ...makeKeySetHandlers({ publicKeys: keys.publicKeys }),
    ...makeConsoleFlow({ database, memberships, team, apiKeys, clock }).handlers,
    ...makePageHandlers({ baseUrl, gatewayUrl, command: needs.command }),
  }
}
