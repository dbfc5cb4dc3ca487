import type { Redis } from 'ioredis'
import type { Keyring } from '../access/keyring.ts'
import type { LiveSessions } from '../access/live-sessions.ts'
import type { AccessStore } from '../access/store.ts'
import type { Database } from '../database/client.ts'
import type { Logger } from '../log.ts'
import type { Mailer } from '../mail.ts'
import type { Config } from '../config/values.ts'
import { controlHandlers } from './app.ts'
import { identifyBrowser } from './browser-session/identify.ts'
import { browserSessionStore } from './browser-session/store.ts'
import { decideByCode } from './device-page/decide.ts'
import { deviceForms } from './device-page/forms.ts'
import { deviceDrawer } from './device-page/page.ts'
import { loginPoller } from './device-login/poll.ts'
import { loginStarter } from './device-login/start.ts'
import { deviceLoginStore } from './device-login/store.ts'
import { signOutEverywhere } from './devices/sign-out-everywhere.ts'
import { deviceStore } from './devices/store.ts'
import { invitationStore } from './invitations/store.ts'
import type { Notify } from './notify.ts'
import { readAssets } from './pages/assets.ts'
import { passkeyChanges } from './passkeys/changes.ts'
import { passkeyStore } from './passkeys/store.ts'
import { teamStore } from './teams/store.ts'
import { issueTokens } from './tokens/issue.ts'
import { openSession } from './tokens/open.ts'
import { presentedFinder, refreshSession } from './tokens/refresh.ts'
import { signOut } from './tokens/sign-out.ts'
import { deviceSessionStore } from './tokens/store.ts'
import type { RoleRoutes } from '../http/app.ts'
import { securitySchemes } from '../http/authenticate.ts'
import type { Identify } from '../http/authenticate.ts'
import { smallBody } from '../http/body.ts'
import { contractOf } from '../http/contract.ts'
import type { Contract } from '../http/contract.ts'
import { CONTROL_ACCESS, cors } from '../http/cors.ts'
import { combineLimits, rateLimits } from '../http/rate-limit.ts'
import { sameOrigin } from '../http/same-origin.ts'
import { verifyAccessToken } from '../access/access-token.ts'
import type { Clock } from '../kernel/clock.ts'

type Edges = {
  readonly database: Database
  /** Null: email is not configured. */
  readonly mailer: Mailer | null
  readonly clock: Clock
  readonly log: Logger
}

/** The largest body of most routes of the control plane. */
const SMALL_BODY_BYTES = 16 * 1024

/** What a browser makes of a passkey is larger. */
const WEBAUTHN_BODIES = {
  paths: ['/v1/auth/passkeys/register/finish', '/v1/auth/passkeys/login/finish'],
  limitBytes: 64 * 1024,
}

type Parts = {
  /** The published document. */
  readonly contract: Contract
  /** The service is reached over https. */
  readonly secure: boolean
  readonly access: AccessStore
  readonly keys: Keyring
  readonly live: LiveSessions
  readonly notify: Notify
  /** Null: each process counts for itself. */
  readonly redis: Redis | null
}

/** The control plane, with all that its flows need of each other. */
export function controlPart(config: Config, edges: Edges, parts: Parts): RoleRoutes {
  const { clock, log } = edges
  const { access, keys, secure } = parts
  const contract = contractOf(parts.contract, 'control-plane')
  const stores = openStores(edges)
  return {
    contract,
    handlers: controlHandlers({
      ...stores,
      ...flowsOf(config, edges, parts, stores),
      findEmail: stores.teams.findEmail,
      publicKeys: keys.publicKeys,
      settings: config.login,
      approvalMode: config.login.approvalMode,
      lifetimes: config.tokens,
      baseUrl: config.baseUrl,
      gatewayUrl: config.gatewayUrl,
      webauthn: { rpId: config.rpId, origin: new URL(config.baseUrl).origin },
      assets: readAssets(),
      notify: parts.notify,
      secure,
      onEnd: parts.live.end,
      database: edges.database,
      clock,
      log,
    }),
    schemes: securitySchemes({
      identifyBearer: identifyDevice(config, keys, access, clock),
      identifyBrowser: identifyBrowser({ sessions: stores.browserSessions, clock }),
    }),
    parseBody: smallBody(SMALL_BODY_BYTES, WEBAUTHN_BODIES),
    nameAllMistakes: true,
    before: [
      // Before the next one, so that what the next refuses can be read too.
      ...cors(contract, config.allowedOrigins, CONTROL_ACCESS),
      sameOrigin([new URL(config.baseUrl).origin, ...config.allowedOrigins]),
    ],
  }
}

type Stores = ReturnType<typeof openStores>

function openStores({ database: { prisma } }: Edges) {
  return {
    logins: deviceLoginStore(prisma),
    sessions: deviceSessionStore(prisma),
    browserSessions: browserSessionStore(prisma),
    devices: deviceStore(prisma),
    passkeys: passkeyStore(prisma),
    invitations: invitationStore(prisma),
    teams: teamStore(prisma),
  }
}

/** What several routes do in the same way. */
function flowsOf(config: Config, edges: Edges, parts: Parts, stores: Stores) {
  const { clock, log } = edges
  const { keys, live, notify, redis, secure } = parts
  const shared = { ...stores, notify, lifetimes: config.tokens, onEnd: live.end, secure, clock, log }
  const limits = openLimits(config, redis)

  const findPresented = presentedFinder(stores.sessions, keys.findRefreshKey)
  const here = signOut({ ...shared, findPresented, findPublicKey: keys.findPublicKey, issuer: config.baseUrl })
  const session = openSession(shared)
  const everywhere = signOutEverywhere({ ...shared, signOut: here })
  const codes = decideByCode({ ...shared, codeLimits: limits.codes })
  const changes = passkeyChanges(shared)
  const drawDevicePage = deviceDrawer({ ...shared, signOut: here, rpId: config.rpId })
  return {
    startLogin: loginStarter({
      ...shared,
      mailer: edges.mailer,
      settings: config.login,
      approvalMode: config.login.approvalMode,
      limits,
      baseUrl: config.baseUrl,
    }),
    pollLogin: loginPoller({ ...shared, openSession: session, pollIntervalSeconds: config.login.pollIntervalSeconds }),
    issueTokens: issueTokens({ keys, issuer: config.baseUrl, accessTokenSeconds: config.tokens.accessTokenSeconds }),
    refreshSession: refreshSession({ ...shared, findPresented }),
    openSession: session,
    signOut: here,
    signOutEverywhere: everywhere,
    codes,
    passkeyChanges: changes,
    passkeyStarts: limits.passkeyStarts,
    drawDevicePage,
    sendDeviceForm: deviceForms({
      ...shared,
      codes,
      passkeyChanges: changes,
      signOut: here,
      signOutEverywhere: everywhere,
      drawDevicePage,
    }),
  }
}

const WINDOW_SECONDS = 600
const DAY_SECONDS = 86_400

/** How much strangers and guessers may do. The settings name the main number of each kind; the others follow it. */
function openLimits({ limits, mail }: Config, redis: Redis | null) {
  const open = rateLimits(redis)
  const inWindow = (name: string, points: number) => open(name, { points, seconds: WINDOW_SECONDS })
  // An outbox sends nothing to anybody.
  const mails = mail?.kind === 'smtp' ? limits.mailsPerAddress : 0
  return {
    starts: inWindow('starts', limits.startsPerIp),
    passkeyStarts: inWindow('passkey-starts', limits.startsPerIp),
    notInvited: inWindow('not-invited', Math.ceil(limits.startsPerIp / 3)),
    mails: combineLimits([inWindow('mails', mails), open('mails-a-day', { points: mails * 6, seconds: DAY_SECONDS })]),
    codes: {
      session: inWindow('codes-session', limits.userCodes),
      account: inWindow('codes-account', limits.userCodes * 2),
      network: inWindow('codes-network', limits.userCodes * 6),
    },
  }
}

/** The control plane asks the database each time: what was revoked a moment ago must not change anything any more. */
function identifyDevice(config: Config, keys: Keyring, access: AccessStore, clock: Clock): Identify {
  return async (token) => {
    const verified = await verifyAccessToken(token, config.baseUrl, keys.findPublicKey, clock.now())
    return verified && access.findDeviceCaller(verified.claims.sessionId)
  }
}
