import type { PrismaClient } from '../../../generated/prisma/client.ts'
import { addSeconds } from '../../kernel/clock.ts'

const DAY_SECONDS = 86_400

/** One round deletes at most so many rows of a kind, so that none of them takes long. */
const MOST_ROWS = 1000

export type HousekeepingStore = ReturnType<typeof housekeepingStore>

/** Rows that nobody will ask for again. What happened stays written in the audit. */
export function housekeepingStore(db: PrismaClient) {
  return {
    /** Deletes challenges whose time is over, and logins and sessions that ended long ago. How many rows went. */
    async sweep(now: Date): Promise<number> {
      const ago = (days: number) => addSeconds(now, -days * DAY_SECONDS)
      const limit = MOST_ROWS
      const swept = [
        await db.webauthnChallenge.deleteMany({ where: { expiresAt: { lte: now } }, limit }),
        await db.browserSession.deleteMany({
          where: { OR: [{ absoluteExpiresAt: { lte: ago(7) } }, { revokedAt: { lte: ago(7) } }] },
          limit,
        }),
        await db.deviceSession.deleteMany({
          where: { OR: [{ absoluteExpiresAt: { lte: ago(30) } }, { revokedAt: { lte: ago(30) } }] },
          limit,
        }),
        // A login goes after its session: it says who let the device in.
        await db.deviceLogin.deleteMany({ where: { expiresAt: { lte: ago(1) }, deviceSession: { is: null } }, limit }),
      ]
      return swept.reduce((sum, { count }) => sum + count, 0)
    },
  }
}
