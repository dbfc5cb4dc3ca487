import { makeApiKeyAccessStore } from '../access/api-key-store.ts'
import { makeDeviceSessionAccessStore } from '../access/device-session-store.ts'
import { openLastSeen } from '../access/last-seen.ts'
import type { Config } from '../config/values.ts'
import { startHousekeeping } from '../control/housekeeping/start.ts'
import { makeHousekeepingStore } from '../control/housekeeping/store.ts'
import type { Notify } from '../control/mails/notify.ts'
import { makeAnnounceLimits } from '../control/spending-limits/announce.ts'
import type { Database } from '../database/client.ts'
import type { OnCaller } from '../http/authenticate.ts'
import { ipOf } from '../http/request.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Logger } from '../log.ts'

type Needs = {
  readonly database: Database
  /** Publishes the next signing key when it is due, and reads the keys that other processes published. */
  readonly rotateKeys: () => Promise<void>
  /** Null without email. */
  readonly notify: Notify | null
  /** For how many days audit events are kept; null keeps all. */
  readonly auditDays: Config['auditDays']
  readonly clock: Clock
  readonly log: Logger
}

/** The work of a process in the background. */
export type BackgroundWork = {
  /** Notes that the device or the API key of a caller was used. */
  readonly onCaller: OnCaller
  /** Waits for the round that is running, and saves what was noted. */
  stop(): Promise<void>
}

/** Starts what a process with the database does besides answering, whichever role it serves. */
export function startBackgroundWork(needs: Needs): BackgroundWork {
  const { database, rotateKeys, notify, auditDays, clock, log } = needs
  const store = makeHousekeepingStore(database, { auditDays })
  const announceLimits = notify && makeAnnounceLimits({ database, notify, clock, log })
  const stopHousekeeping = startHousekeeping({ rotateKeys, announceLimits, store, clock, log })
  const devices = openLastSeen({ save: makeDeviceSessionAccessStore(database).saveSessionUses, clock, log })
  const keys = openLastSeen({ save: makeApiKeyAccessStore(database).saveKeyUses, clock, log })
  return {
    onCaller({ sessionKind, sessionId }, req) {
      if (sessionKind === 'device') devices.note(sessionId, () => ipOf(req))
      if (sessionKind === 'api_key') keys.note(sessionId, () => ipOf(req))
    },
    async stop() {
      await stopHousekeeping()
      await Promise.all([devices.close(), keys.close()])
    },
  }
}
