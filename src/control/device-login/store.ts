import { Prisma } from '../../../generated/prisma/client.ts'
import type { PrismaClient } from '../../../generated/prisma/client.ts'
import { withRetry } from '../../database/errors.ts'
import { addMs } from '../../kernel/clock.ts'
import type { SecretHash } from '../../kernel/secret.ts'
import { toLogin, toState, WITH_PEOPLE } from './rows.ts'
import type { FoundLogin, UnnamedLogin } from './rows.ts'

export type NewDeviceLogin = {
  /** Null when the device names no account. */
  readonly invitationId: string | null
  readonly deviceId: string
  readonly deviceName: string
  readonly clientId: string | null
  readonly deviceCodeHash: SecretHash
  readonly userCode: string
  readonly mailTokenHash: SecretHash
  readonly handleTokenHash: SecretHash | null
  readonly createdAt: Date
  readonly expiresAt: Date
  readonly startIp: string
  readonly startUserAgent: string
}

/** How many logins of one account are live. More would flood the person's mailbox; the oldest is cancelled. */
const MAX_LIVE_LOGINS = 10

export type DeviceLoginStore = ReturnType<typeof makeDeviceLoginStore>

/**
 * Logins, as their devices start and poll them. Magic links and the device page have stores of their own for deciding
 * them.
 */
export function makeDeviceLoginStore(db: PrismaClient) {
  return {
    /**
     * Saves a login and cancels the account's oldest beyond the limit. Null when another live login has the same user
     * code.
     */
    async create(login: NewDeviceLogin, accountId: string | null): Promise<string | null> {
      try {
        return await withRetry(() => db.$transaction((tx) => create(tx, login, accountId)))
      } catch (error) {
        if (error instanceof Prisma.PrismaClientKnownRequestError && error.code === 'P2002') return null
        throw error
      }
    },

    /** Ends a login whose email was not accepted. */
    async cancel(id: string): Promise<void> {
      await db.deviceLogin.updateMany({
        where: { id, status: 'pending' },
        data: { status: 'cancelled', userCode: null },
      })
    },

    async findByDeviceCode(hash: SecretHash): Promise<FoundLogin | UnnamedLogin | null> {
      const row = await db.deviceLogin.findUnique({ where: { deviceCodeHash: hash }, include: WITH_PEOPLE })
      if (!row) return null
      if (row.invitation) return toLogin(row, row.invitation)
      return { ...toState(row, null), id: row.id, clientId: row.clientId, invitationId: null }
    },

    /**
     * Saves a poll; false when another poll was saved within `intervalMs`. A refused poll must not move the time of the
     * last one.
     */
    async savePoll(id: string, now: Date, intervalMs: number): Promise<boolean> {
      const { count } = await db.deviceLogin.updateMany({
        where: {
          id,
          OR: [
            { lastPolledAt: null },
            { lastPolledAt: { lte: addMs(now, -intervalMs) } },
            // Saved before the clock was set back.
            { lastPolledAt: { gte: addMs(now, intervalMs) } },
          ],
        },
        data: { lastPolledAt: now },
      })
      return count === 1
    },
  }
}

async function create(tx: Prisma.TransactionClient, login: NewDeviceLogin, accountId: string | null): Promise<string> {
  // This lock serialises concurrent starts of one account; without it they would pass the limit together.
  if (accountId) await tx.$queryRaw`SELECT 1 FROM accounts WHERE id = ${accountId}::uuid FOR NO KEY UPDATE`
  const { id } = await tx.deviceLogin.create({ data: login, select: { id: true } })
  await tx.auditEvent.create({
    data: {
      at: login.createdAt,
      kind: 'device_login.started',
      accountId,
      subjectId: id,
      ip: login.startIp,
      details: { deviceId: login.deviceId },
    },
  })
  if (accountId) await cancelSurplus(tx, id, accountId, login.createdAt)
  return id
}

async function cancelSurplus(tx: Prisma.TransactionClient, newId: string, accountId: string, now: Date): Promise<void> {
  const surplus = await tx.deviceLogin.findMany({
    // Never the new one: the clock of another process may be ahead.
    where: { id: { not: newId }, status: 'pending', expiresAt: { gt: now }, invitation: { accountId } },
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
    skip: MAX_LIVE_LOGINS - 1,
    select: { id: true },
  })
  if (surplus.length === 0) return
  await tx.deviceLogin.updateMany({
    where: { id: { in: surplus.map(({ id }) => id) }, status: 'pending' },
    data: { status: 'cancelled', userCode: null },
  })
}
