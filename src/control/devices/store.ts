import type { PrismaClient } from '../../../generated/prisma/client.ts'
import { formatTeamName } from '../../kernel/team-name.ts'
import { endBrowserSessions } from '../browser-session/store.ts'
import { endSessions } from '../tokens/store.ts'

/** A device that is signed in, and who let it in. */
export type ListedDevice = {
  readonly sessionId: string
  readonly deviceId: string
  readonly deviceName: string
  readonly team: string
  readonly firstSeenAt: Date
  readonly lastSeenAt: Date
  readonly lastIp: string
  readonly approvedVia: 'mail' | 'session' | 'user_code' | 'passkey'
  /** The device whose session approved it; null for a browser, a mail or a passkey. */
  readonly approverName: string | null
}

/** What stays signed in. */
export type Kept = { readonly devices: readonly string[]; readonly browsers: readonly string[] }

export type DeviceStore = ReturnType<typeof deviceStore>

/** The devices of an account, as their owner sees them. */
export function deviceStore(db: PrismaClient) {
  return {
    /** The devices that are signed in, the one seen last first. */
    async list(accountId: string, now: Date): Promise<ListedDevice[]> {
      const rows = await db.deviceSession.findMany({
        where: { revokedAt: null, idleExpiresAt: { gt: now }, invitation: { accountId, revokedAt: null } },
        orderBy: [{ lastSeenAt: 'desc' }, { id: 'desc' }],
        include: {
          login: { select: { approvedVia: true, approverSessionId: true } },
          invitation: { select: { team: { include: { organization: true } } } },
        },
      })
      const approverIds = rows.flatMap(({ login }) => login?.approverSessionId ?? [])
      const approvers = await db.deviceSession.findMany({
        where: { id: { in: approverIds } },
        select: { id: true, deviceName: true },
      })
      const nameOf = new Map(approvers.map(({ id, deviceName }) => [id, deviceName]))
      return rows.map(({ id, login, invitation: { team }, createdAt, ...row }) => ({
        sessionId: id,
        deviceId: row.deviceId,
        deviceName: row.deviceName,
        team: formatTeamName({ organization: team.organization.name, name: team.name }),
        firstSeenAt: createdAt,
        lastSeenAt: row.lastSeenAt,
        lastIp: row.lastIp,
        approvedVia: login?.approvedVia ?? 'passkey',
        approverName: nameOf.get(login?.approverSessionId ?? '') ?? null,
      }))
    },

    /** Ends a device session of this account; false when it has none of this id that is alive. */
    async revoke(sessionId: string, accountId: string, now: Date, ip: string): Promise<boolean> {
      const own = { id: sessionId, invitation: { accountId } }
      const ended = await db.$transaction((tx) => endSessions(tx, own, 'signed_out', now, ip))
      return ended.length === 1
    },

    /**
     * Ends every session of the account but those that are kept, and every login that could still become one. The device sessions that
     * ended are named.
     */
    async revokeAll(accountId: string, kept: Kept, now: Date, ip: string): Promise<string[]> {
      const reason = 'signed_out_everywhere'
      return db.$transaction(async (tx) => {
        // Sessions that are being opened wait for this row, and logins that are cancelled open none.
        await tx.$queryRaw`SELECT id FROM accounts WHERE id = ${accountId}::uuid FOR UPDATE`
        await tx.deviceLogin.updateMany({
          where: {
            invitation: { accountId },
            OR: [{ status: 'pending' }, { status: 'approved', deviceSession: null }],
          },
          data: { status: 'cancelled', userCode: null },
        })
        const devices = { id: { notIn: [...kept.devices] }, invitation: { accountId } }
        const ended = await endSessions(tx, devices, reason, now, ip)
        const browsers = { id: { notIn: [...kept.browsers] }, invitation: { accountId } }
        // NULL is in no list and outside of none, so browsers without a device need a word of their own.
        const unkept = { OR: [{ deviceSessionId: null }, { deviceSessionId: { notIn: [...kept.devices] } }] }
        await endBrowserSessions(tx, { ...browsers, ...unkept }, reason, now, ip)
        return ended
      })
    },
  }
}
