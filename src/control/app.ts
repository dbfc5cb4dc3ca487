import { makeMemberStore } from '../directory/members.ts'
import type { RoleRoutes } from '../http/app.ts'
import { healthRoutes } from '../http/health.ts'
import { contractOf } from '../http/contract.ts'
import { makeControlSchemes } from './callers.ts'
import { makeDeviceLoginFlow } from './device-login/flow.ts'
import { makeDevicePageFlow } from './device-page/flow.ts'
import { makeDevicesFlow } from './devices/flow.ts'
import { makeControlEdge } from './edge.ts'
import { makeInvitationHandlers } from './invitations/routes.ts'
import { makeKeyHandlers } from './keys/routes.ts'
import { makeControlLimits } from './limits.ts'
import { makeMagicLinkHandlers } from './magic-link/routes.ts'
import type { ControlNeeds } from './needs.ts'
import { makeOAuthHandlers } from './oauth/routes.ts'
import { makePageHandlers } from './pages/routes.ts'
import { makePasskeyFlow } from './passkeys/flow.ts'
import { makeTeamHandlers } from './teams/routes.ts'
import { makeTokenFlow } from './tokens/flow.ts'

/**
 * Builds the control plane: its flows one after the other, each with what it needs, as one part of the HTTP service.
 */
export function makeControlPlane(needs: ControlNeeds): RoleRoutes {
  const { settings, database, mailer, redis, access, keys, onSessionEnd, notify, clock, log } = needs
  const { baseUrl, gatewayUrl, login, tokens: lifetimes, rpId } = settings
  const db = database.prisma
  const contract = contractOf(needs.contract, 'control-plane')
  const secure = baseUrl.startsWith('https://')
  const limits = makeControlLimits({ limits: settings.limits, sendsMail: settings.mail?.kind === 'smtp', redis })
  const { findInvitation, findMembership, findEmail } = makeMemberStore(db)

  const tokens = makeTokenFlow({ db, keys, issuer: baseUrl, lifetimes, secure, notify, onSessionEnd, clock, log })
  const { openSession, refreshSession, issueTokens, signOut } = tokens
  const deviceLogin = makeDeviceLoginFlow({
    db,
    findInvitation,
    mailer,
    openSession,
    issueTokens,
    settings: login,
    lifetimes,
    limits: limits.logins,
    baseUrl,
    secure,
    clock,
    log,
  })
  const passkeys = makePasskeyFlow({
    db,
    findInvitation,
    openSession,
    issueTokens,
    notify,
    webauthn: { rpId, origin: new URL(baseUrl).origin },
    starts: limits.passkeyStarts,
    lifetimes,
    secure,
    clock,
    log,
  })
  const devices = makeDevicesFlow({ db, signOut, secure, onSessionEnd, clock, log })
  const devicePage = makeDevicePageFlow({
    db,
    findEmail,
    passkeyChanges: passkeys.changes,
    signOut,
    signOutEverywhere: devices.signOutEverywhere,
    limits: limits.userCodes,
    rpId,
    secure,
    onSessionEnd,
    clock,
    log,
  })
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
    clock,
  })

  return {
    contract,
    handlers: {
      ...healthRoutes({ database }),
      ...tokens.handlers,
      ...deviceLogin.handlers,
      ...makeMagicLinkHandlers({ db, approvalMode: login.approvalMode, secure, clock, log }),
      ...passkeys.handlers,
      ...devices.handlers,
      ...devicePage.handlers,
      ...oauth,
      ...makeInvitationHandlers({ db, findMembership, onSessionEnd, clock, log }),
      ...makeTeamHandlers({ findMembership, gatewayUrl }),
      ...makeKeyHandlers({ publicKeys: keys.publicKeys }),
      ...makePageHandlers(),
    },
    schemes: makeControlSchemes({
      db,
      findDeviceCaller: access.findDeviceCaller,
      findPublicKey: keys.findPublicKey,
      issuer: baseUrl,
      clock,
    }),
    nameAllMistakes: true,
    ...makeControlEdge({ contract, baseUrl, allowedOrigins: settings.allowedOrigins }),
  }
}
