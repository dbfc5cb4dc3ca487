import type { Redis } from 'ioredis'
import { openKeyring } from '../access/keyring.ts'
import { liveSessions } from '../access/live-sessions.ts'
import { accessStore } from '../access/store.ts'
import type { Config } from '../config/values.ts'
import { makeControlPlane } from '../control/app.ts'
import { startHousekeeping } from '../control/housekeeping/start.ts'
import { makeHousekeepingStore } from '../control/housekeeping/store.ts'
import { makeNotifier } from '../control/notify.ts'
import type { Database } from '../database/client.ts'
import { openDatabaseDeployment, openStandaloneDeployment } from '../gateway/deployment.ts'
import type { Deployment } from '../gateway/deployment.ts'
import type { RoleRoutes } from '../http/app.ts'
import type { Contract } from '../http/contract.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Logger } from '../log.ts'
import type { Mailer } from '../mail.ts'

/** What the service needs of the outside world and what tests replace. */
export type Resources = {
  /** Null without a database, which only a gateway can do without. */
  readonly database: Database | null
  /** Null when email is not configured. */
  readonly mailer: Mailer | null
  readonly clock: Clock
  readonly log: Logger
}

type Given = { readonly contract: Contract; readonly redis: Redis | null }

/** The deployment as the gateway sees it, and the control plane where this process serves it. */
export type OpenDeployment = Deployment & { readonly controlPlane: RoleRoutes | null }

/** Opens the deployment from the database, or without one from tokens and the directory file. */
export async function openDeployment(config: Config, resources: Resources, given: Given): Promise<OpenDeployment> {
  const { database, clock, log } = resources
  if (database) return openWithDatabase(config, { ...resources, database }, given)
  const deployment = await openStandaloneDeployment({ ...config, clock, log })
  return { ...deployment, controlPlane: null }
}

async function openWithDatabase(
  config: Config,
  resources: Resources & { readonly database: Database },
  given: Given,
): Promise<OpenDeployment> {
  const { database, mailer, clock, log } = resources
  const access = accessStore(database.prisma)
  const keys = await openKeyring(access, clock, config.tokens.accessTokenSeconds)
  const live = liveSessions({ issuer: config.baseUrl, findPublicKey: keys.findPublicKey, ...access, clock })
  const notify = makeNotifier({ mailer, baseUrl: config.baseUrl, log })
  const deployment = openDatabaseDeployment({ database, live, clock, log })
  const stopHousekeeping = startHousekeeping({
    rotateKeys: keys.rotate,
    store: makeHousekeepingStore(database.prisma),
    clock,
    log,
  })
  const needs = { settings: config, ...resources, ...given, access, keys, notify, onSessionEnd: live.end }
  return {
    ...deployment,
    controlPlane: config.role === 'gateway' ? null : makeControlPlane(needs),
    async close() {
      live.close()
      await stopHousekeeping()
      await notify.settled()
      await deployment.close()
    },
  }
}
