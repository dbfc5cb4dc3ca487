import { openKeyring } from '../access/keyring.ts'
import { openLiveCallers } from '../access/live-callers.ts'
import type { LiveCallers } from '../access/live-callers.ts'
import { makeSigningKeyStore } from '../access/signing-key-store.ts'
import type { Config } from '../config/values.ts'
import type { ControlPlane } from '../control/app.ts'
import { makeNotifier } from '../control/mails/notify.ts'
import type { Notify } from '../control/mails/notify.ts'
import { readCommandPackage } from '../control/pages/command-package.ts'
import type { Database } from '../database/client.ts'
import { makeAnswerOrLastKnown } from '../database/last-known.ts'
import { openGateway } from '../gateway/app.ts'
import type { Gateway } from '../gateway/app.ts'
import { openDatabaseDeployment } from '../gateway/database-deployment.ts'
import type { Deployment } from '../gateway/deployment.ts'
import { makeUnknownCount } from '../http/unknown-credentials.ts'
import { openAdminBackendTrust, reencryptCredentials } from './admin-backends.ts'
import { startBackgroundWork } from './background.ts'
import type { BackgroundWork } from './background.ts'
import type { Resources, RoleNeeds, Roles } from './roles.ts'

/** Opens the roles of a process with a database. Of a gateway, the control plane is not even loaded. */
export async function openDatabaseRoles(
  config: Config,
  resources: Resources & { readonly database: Database },
  given: RoleNeeds,
): Promise<Roles> {
  const { database, mailer, clock, log } = resources
  const keys = await openKeyring(makeSigningKeyStore(database), clock, config.tokens.accessTokenSeconds)
  const adminBackends = await openAdminBackendTrust(config, log)
  if (adminBackends && config.role !== 'gateway') await reencryptCredentials(database, adminBackends, log)
  const openControlPlane = config.role === 'gateway' ? null : (await import('../control/app.ts')).openControlPlane
  const command = config.role === 'gateway' ? null : readCommandPackage(config)
  // Up to here a step can fail, and nothing has to be closed. From here on no step fails.
  const answerOrLastKnown = makeAnswerOrLastKnown()
  const live = openLiveCallers({
    database,
    issuer: config.baseUrl,
    findPublicKey: keys.findPublicKey,
    unknownKeys: makeUnknownCount({ perMinute: config.signInLimits.startsPerIp }),
    answerOrLastKnown,
    clock,
  })
  const notify = makeNotifier({ mailer, baseUrl: config.baseUrl, commandUrl: command?.url ?? null, log })
  const deployment = openDatabaseDeployment({
    database,
    live,
    spoolDirectory: config.spoolDirectory,
    answerOrLastKnown,
    metrics: given.metrics,
    clock,
    log,
  })
  const gatewayNeeds = { ...given, settings: config, deployment, adminBackends, clock, log }
  const gateway = config.role === 'control-plane' ? null : openGateway(gatewayNeeds)
  const background = startBackgroundWork({
    database,
    rotateKeys: keys.rotate,
    notify: mailer && notify,
    auditDays: config.auditDays,
    clock,
    log,
  })
  const control = openControlPlane?.({
    settings: config,
    ...resources,
    ...given,
    keys,
    notify,
    command,
    adminBackends,
    explainToken: live.explainToken,
    onCallerEnd: live.end,
    onLimitsChanged: deployment.expireSpending,
  })
  return toRoles({ gateway, control: control ?? null, deployment, live, background, notify })
}

type Opened = {
  readonly gateway: Gateway | null
  readonly control: ControlPlane | null
  readonly deployment: Deployment
  readonly live: LiveCallers
  readonly background: BackgroundWork
  readonly notify: Notify
}

function toRoles({ gateway, control, deployment, live, background, notify }: Opened): Roles {
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
      // Before the emails: an email server may take longer than a supervisor waits for this process.
      await deployment.close()
      await notify.settled()
    },
  }
}
