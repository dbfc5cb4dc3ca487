import { openKeyring } from '../access/keyring.ts'
import { accessStore } from '../access/store.ts'
import type { Config } from '../config/values.ts'
import { openControlPlane } from '../control/app.ts'
import { makeNotifier } from '../control/notify.ts'
import type { Database } from '../database/client.ts'
import type { GatewayNeeds } from '../gateway/app.ts'
import { openDatabaseDeployment } from '../gateway/database-deployment.ts'
import type { Deployment } from '../gateway/deployment.ts'
import { openStandaloneDeployment } from '../gateway/standalone-deployment.ts'
import type { RoleRoutes } from '../http/app.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Logger } from '../log.ts'
import type { Mailer } from '../mail.ts'
import { startBackgroundWork } from './background.ts'
import { openCallers } from './callers.ts'
import { openConfiguredGateway } from './configured-gateway.ts'

/** What the service needs of the outside world and what tests replace. */
export type Resources = {
  /** Null without a database, which only a gateway can do without. */
  readonly database: Database | null
  /** Null when email is not configured. */
  readonly mailer: Mailer | null
  readonly clock: Clock
  readonly log: Logger
}

/** What both roles share, and what only the gateway needs. */
type Given = Pick<GatewayNeeds, 'contract' | 'redis' | 'metrics' | 'tracer' | 'costOf'>

/** The roles of this process, ready to serve. */
export type Roles = {
  readonly routes: readonly RoleRoutes[]
  /** Replaces the directory, as a whole or not at all. */
  readonly applyDirectory: Deployment['applyDirectory']
  /** Ends the streams that would not end by themselves. Their clients connect again, to another process. */
  endStreams(): void
  readonly countDirectory: Deployment['countDirectory']
  /** Breaks off the model calls that are still open. */
  endCalls(): Promise<void>
  close(): Promise<void>
}

/** Opens the roles of the configuration, each with exactly what it needs. Only a gateway can do without a database. */
export async function openRoles(config: Config, resources: Resources, given: Given): Promise<Roles> {
  const { database, clock, log } = resources
  if (database) return openWithDatabase(config, { ...resources, database }, given)
  const deployment = await openStandaloneDeployment({ ...config, clock, log })
  const gateway = openConfiguredGateway(config, { ...given, deployment, clock, log })
  return {
    routes: gateway ? [gateway.routes] : [],
    applyDirectory: deployment.applyDirectory,
    endStreams: () => undefined,
    countDirectory: deployment.countDirectory,
    endCalls: async () => gateway?.close(),
    async close() {
      await gateway?.close()
      await deployment.close()
    },
  }
}

async function openWithDatabase(
  config: Config,
  resources: Resources & { readonly database: Database },
  given: Given,
): Promise<Roles> {
  const { database, mailer, clock, log } = resources
  const access = accessStore(database.prisma)
  const keys = await openKeyring(access, clock, config.tokens.accessTokenSeconds)
  const live = openCallers(config, { database, findPublicKey: keys.findPublicKey, clock })
  const notify = makeNotifier({ mailer, baseUrl: config.baseUrl, log })
  const deployment = openDatabaseDeployment({ database, live, spoolDirectory: config.spoolDirectory, clock, log })
  const gateway = openConfiguredGateway(config, { ...given, deployment, clock, log })
  const { auditDays } = config
  const background = startBackgroundWork({
    database,
    access,
    rotateKeys: keys.rotate,
    notify: mailer && notify,
    auditDays,
    clock,
    log,
  })
  const needs = {
    settings: config,
    ...resources,
    ...given,
    access,
    keys,
    notify,
    explainToken: live.explainToken,
    onSessionEnd: live.end,
    onLimitsChanged: deployment.expireSpending,
  }
  const control = config.role === 'gateway' ? null : openControlPlane(needs)
  return {
    routes: [gateway, control].flatMap((role) => (role ? [{ ...role.routes, onCaller: background.onCaller }] : [])),
    applyDirectory: deployment.applyDirectory,
    endStreams: () => control?.endStreams(),
    countDirectory: deployment.countDirectory,
    endCalls: async () => gateway?.close(),
    async close() {
      // Ends all calls first, so that their events are recorded.
      await gateway?.close()
      control?.close()
      live.close()
      await background.stop()
      await notify.settled()
      await deployment.close()
    },
  }
}
