import type { Registry } from 'prom-client'
import type { Config } from '../config/values.ts'
import type { Database } from '../database/client.ts'
import { openGateway } from '../gateway/app.ts'
import type { GatewayNeeds } from '../gateway/app.ts'
import type { Deployment } from '../gateway/deployment.ts'
import { openStandaloneDeployment } from '../gateway/standalone-deployment.ts'
import type { RoleRoutes } from '../http/role.ts'
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
  /** Counts the events of the log; null when metrics are off. */
  readonly eventMetrics: Registry | null
}

/** What both roles share, and what only the gateway needs. */
export type RoleNeeds = Pick<GatewayNeeds, 'contract' | 'redis' | 'metrics' | 'tracer' | 'costOf'>

/** The roles of this process, ready to serve. */
export type Roles = {
  readonly routes: readonly RoleRoutes[]
  /** Replaces the directory, as a whole or not at all. */
  readonly applyDirectory: Deployment['applyDirectory']
  /** Ends the streams that would not end by themselves. Their clients connect again, to another process. */
  endStreams(): void
  readonly countDirectory: Deployment['countDirectory']
  /** Ends the model calls that are still open. Callers whose answer has begun are told in their dialect. */
  endCalls(): Promise<void>
  close(): Promise<void>
}

/** Opens the gateway of a process without a database. */
export async function openStandaloneRoles(config: Config, { clock, log }: Resources, given: RoleNeeds): Promise<Roles> {
  const deployment = await openStandaloneDeployment({ ...config, clock, log })
  const gateway = openGateway({ ...given, settings: config, deployment, adminBackends: null, clock, log })
  return {
    routes: [gateway.routes],
    applyDirectory: deployment.applyDirectory,
    endStreams: () => undefined,
    countDirectory: deployment.countDirectory,
    endCalls: gateway.close,
    async close() {
      await gateway.close()
      await deployment.close()
    },
  }
}
