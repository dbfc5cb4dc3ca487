import type { PrismaClient } from '../../../generated/prisma/client.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Logger } from '../../log.ts'
import type { SignOut } from '../tokens/sign-out.ts'
import { makeDevicesHandlers } from './routes.ts'
import { makeSignOutEverywhere } from './sign-out-everywhere.ts'
import { makeDeviceStore } from './store.ts'

type Needs = {
  readonly db: PrismaClient
  readonly signOut: SignOut
  readonly secure: boolean
  readonly onSessionEnd: (sessionId: string) => void
  readonly clock: Clock
  readonly log: Logger
}

/** The caller's own devices: list them, sign one out, sign out everywhere. */
export function makeDevicesFlow({ db, signOut, secure, onSessionEnd, clock, log }: Needs) {
  const devices = makeDeviceStore(db)
  const signOutEverywhere = makeSignOutEverywhere({ devices, signOut, onSessionEnd, log })
  return {
    signOutEverywhere,
    handlers: makeDevicesHandlers({ devices, signOut, signOutEverywhere, secure, onSessionEnd, clock }),
  }
}
