import type { Redis } from 'ioredis'
import type { Keyring } from '../access/keyring.ts'
import type { Config } from '../config/values.ts'
import type { Database } from '../database/client.ts'
import type { AdminBackendTrust } from '../directory/admin-backends.ts'
import type { Contract } from '../http/contract.ts'
import type { ExplainToken, OnCallerEnd } from '../kernel/caller.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Logger } from '../log.ts'
import type { Mailer } from '../mail.ts'
import type { Notify } from './mails/notify.ts'
import type { CommandPackage } from './pages/command-package.ts'

/** The settings that the control plane reads. */
type Settings = Pick<
  Config,
  'baseUrl' | 'gatewayUrl' | 'login' | 'tokens' | 'rpId' | 'signInLimits' | 'callLimits' | 'mail' | 'allowedOrigins'
>

/** What the process gives the control plane. */
export type ControlNeeds = {
  readonly settings: Settings
  /** The whole published document; the control plane serves its part of it. */
  readonly contract: Contract
  readonly database: Database
  /** Null when email is not configured. */
  readonly mailer: Mailer | null
  /** Null: each process counts limits for itself. */
  readonly redis: Redis | null
  readonly keys: Keyring
  readonly explainToken: ExplainToken
  readonly notify: Notify
  /** Null: the deployment does not offer the command. */
  readonly command: CommandPackage | null
  /** Null: the operator lets admins of teams add no backends. */
  readonly adminBackends: AdminBackendTrust | null
  readonly onCallerEnd: OnCallerEnd
  /** Tells the gateway of this process that spending limits have changed. */
  readonly onLimitsChanged: () => void
  readonly clock: Clock
  readonly log: Logger
}
