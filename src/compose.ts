import type { Express } from 'express'
import { openKeyring } from './access/keyring.ts'
import type { Keyring } from './access/keyring.ts'
import { liveSessions } from './access/live-sessions.ts'
import type { LiveSessions } from './access/live-sessions.ts'
import { accessStore } from './access/store.ts'
import type { AccessStore } from './access/store.ts'
import type { Config } from './config.ts'
import { controlHandlers } from './control/app.ts'
import { identifyBrowser } from './control/browser-session/identify.ts'
import { browserSessionStore } from './control/browser-session/store.ts'
import { deviceLoginStore } from './control/device-login/store.ts'
import { errorPage } from './control/pages/error-page.ts'
import { teamStore } from './control/teams/store.ts'
import { issueTokens } from './control/tokens/issue.ts'
import { deviceSessionStore } from './control/tokens/store.ts'
import { isDatabaseUnavailable } from './database.ts'
import type { Database } from './database.ts'
import { directoryStore } from './directory/store.ts'
import { snapshotCache } from './directory/snapshot.ts'
import { gatewayHandlers, openGateway } from './gateway/app.ts'
import { createApp } from './http/app.ts'
import type { Part } from './http/app.ts'
import { authenticator } from './http/authenticate.ts'
import type { Identify } from './http/authenticate.ts'
import { callBody, smallBody } from './http/body.ts'
import { contractOf, readContract } from './http/contract.ts'
import { ERRORS } from './http/errors.ts'
import { sendPage } from './http/page.ts'
import { wantsPage } from './http/request.ts'
import { sameOrigin } from './http/same-origin.ts'
import { verifyAccessToken } from './kernel/access-token.ts'
import type { Clock } from './kernel/clock.ts'
import type { Logger } from './log.ts'
import type { Mailer } from './mail.ts'

/** What a process cannot replay; tests bring their own. */
export type Edges = {
  readonly database: Database
  /** Null: mail is not configured. */
  readonly mailer: Mailer | null
  readonly clock: Clock
  readonly log: Logger
}

export type Service = { readonly app: Express; close(): Promise<void> }

/** The largest body of a route of the control plane. */
const SMALL_BODY_BYTES = 16 * 1024

/** Builds everything once and hands each part only what it needs. */
export async function compose(config: Config, edges: Edges): Promise<Service> {
  const { database, clock, log } = edges
  const access = accessStore(database.prisma)
  const keys = await openKeyring(access, clock)
  const live = liveSessions({ issuer: config.baseUrl, findPublicKey: keys.findPublicKey, ...access, clock })
  const gateway = openGateway({ ...config, clock, log })
  const parts = { access, keys, live, gateway }

  const app = await createApp({
    parts: [
      ...(config.role === 'control-plane' ? [] : [gatewayPart(config, edges, parts)]),
      ...(config.role === 'gateway' ? [] : [controlPart(config, edges, parts)]),
    ],
    log,
    trustProxy: config.trustProxy,
    secure: isSecure(config),
    isDatabaseUnavailable,
    writeErrorPage(req, res, error) {
      const isPage = wantsPage(req) && req.path === '/v1/auth/magic/consume'
      if (isPage)
        sendPage(res, ERRORS[error.code].status, errorPage({ status: ERRORS[error.code].status, requestId: req.id }))
      return isPage
    },
    loginRoutes: { deviceStart: `${config.baseUrl}/v1/auth/device/start`, page: `${config.baseUrl}/device` },
  })
  return {
    app,
    async close() {
      live.close()
      await gateway.close()
    },
  }
}

type Parts = {
  readonly access: AccessStore
  readonly keys: Keyring
  readonly live: LiveSessions
  readonly gateway: ReturnType<typeof openGateway>
}

function gatewayPart(config: Config, { database, clock, log }: Edges, { live, gateway }: Parts): Part {
  const directory = directoryStore(database.prisma)
  const teams = snapshotCache({
    load: directory.loadSnapshot,
    clock,
    maxAgeMs: 5000,
    onFailure: (err) => log.warn({ err }, 'directory.unread'),
  })
  return {
    contract: contractOf(readContract(), 'gateway'),
    handlers: gatewayHandlers({
      ...gateway,
      teams: { find: (_organization, team) => teams.team(team) },
      watchSession: live.watch,
      database,
      clock,
      log,
    }),
    authenticate: authenticator({ identifyBearer: live.identify, identifyBrowser: null, onFailure: noteFailure(log) }),
    parseBody: callBody(config.maxBodyBytes),
    nameAllMistakes: false,
    before: [],
  }
}

function controlPart(config: Config, { database, mailer, clock, log }: Edges, { access, keys, live }: Parts): Part {
  const db = database.prisma
  const browserSessions = browserSessionStore(db)
  const teams = teamStore(db)
  return {
    contract: contractOf(readContract(), 'control-plane'),
    handlers: controlHandlers({
      logins: deviceLoginStore(db),
      sessions: deviceSessionStore(db),
      browserSessions,
      teams,
      findEmail: teams.findEmail,
      issueTokens: issueTokens({ keys, issuer: config.baseUrl, accessTokenSeconds: config.tokens.accessTokenSeconds }),
      keys,
      publicKeys: keys.publicKeys,
      mailer,
      settings: config.login,
      approvalMode: config.login.approvalMode,
      lifetimes: config.tokens,
      issuer: config.baseUrl,
      baseUrl: config.baseUrl,
      gatewayUrl: config.gatewayUrl,
      secure: isSecure(config),
      onEnd: live.end,
      database,
      clock,
      log,
    }),
    authenticate: authenticator({
      identifyBearer: identifyDevice(config, keys, access, clock),
      identifyBrowser: identifyBrowser({ sessions: browserSessions, clock }),
      onFailure: noteFailure(log),
    }),
    parseBody: smallBody(SMALL_BODY_BYTES),
    nameAllMistakes: true,
    before: [sameOrigin([new URL(config.baseUrl).origin, ...config.allowedOrigins])],
  }
}

/** The control plane asks the database each time: what was revoked a moment ago must not change anything any more. */
function identifyDevice(config: Config, keys: Keyring, access: AccessStore, clock: Clock): Identify {
  return async (token) => {
    const verified = await verifyAccessToken(token, config.baseUrl, keys.findPublicKey, clock.now())
    return verified && access.findDeviceCaller(verified.claims.sessionId)
  }
}

function noteFailure(log: Logger): (error: unknown) => void {
  return (err) => log.error({ err }, 'authenticate.failed')
}

function isSecure(config: Config): boolean {
  return config.baseUrl.startsWith('https://')
}
