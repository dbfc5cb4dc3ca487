import type { PrismaClient } from '../../../generated/prisma/client.ts'
import { formatTeamName } from '../../kernel/team-name.ts'
import { revokeKeysSince } from '../api-keys/store.ts'
import { endBrowserSessions } from '../browser-session/store.ts'
import { removePasskeysSince } from '../passkeys/store.ts'
import { endSessions } from '../tokens/store.ts'

/** A signed-in device, and how it was approved. */
export type ListedDevice = {
  readonly sessionId: string
  readonly deviceId: string
  readonly deviceName: string
  readonly team: string
  readonly firstSeenAt: Date
  readonly lastSeenAt: Date
  readonly lastIp: string
  readonly approvedVia: 'mail' | 'session' | 'user_code' | 'passkey'
  /** The device whose session approved it; null when a browser, an email or a passkey did. */
  readonly approverName: string | null
}

/** The sessions that stay signed in. */
export type Kept = { readonly devices: readonly string[]; readonly browsers: readonly string[] }

export type DeviceStore = ReturnType<typeof makeDeviceStore>

/** The devices of an account, for their owner. */
export function makeDeviceStore(db: PrismaClient) {
  return {
    /** The signed-in devices, the last seen first. */
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

    /** Ends a device session of this account; false when the account has no live session with this id. */
    async revoke(sessionId: string, accountId: string, now: Date, ip: string): Promise<boolean> {
      const own = { id: sessionId, invitation: { accountId } }
      const ended = await db.$transaction((tx) => endSessions(tx, own, 'signed_out', now, ip))
      return ended.length === 1
    },

    /** The time at which a device of this account signed in, whether or not it still is; null for an unknown id. */
    async findSignIn(sessionId: string, accountId: string): Promise<Date | null> {
      const row = await db.deviceSession.findFirst({
        where: { id: sessionId, invitation: { accountId } },
        select: { createdAt: true },
      })
      return row?.createdAt ?? null
    },

    /**
     * Ends every session of the account but the kept ones, cancels every login that could still become a session, and
     * removes the passkeys and API keys that were added since a time (null: none). Returns the ids of the device
     * sessions and keys that ended, and the names of the removed passkeys.
     */
    async revokeAll(
      accountId: string,
      { kept, addedSince }: { readonly kept: Kept; readonly addedSince: Date | null },
      now: Date,
      ip: string,
    ): Promise<{ devices: string[]; passkeys: string[]; apiKeys: string[] }> {
      const reason = 'signed_out_everywhere'
      return db.$transaction(async (tx) => {
        // A session that is being opened waits for this row, and then finds its login cancelled.
        await tx.$queryRaw`SELECT id FROM accounts WHERE id = ${accountId}::uuid FOR UPDATE`
        await tx.deviceLogin.updateMany({
          // Approved ones too: the link of a login that was approved by its code can still sign a browser in.
          where: { invitation: { accountId }, status: { in: ['pending', 'approved'] } },
          data: { status: 'cancelled', userCode: null },
        })
        await tx.signInLink.deleteMany({ where: { invitation: { accountId } } })
        const devices = { id: { notIn: [...kept.devices] }, invitation: { accountId } }
        const ended = await endSessions(tx, devices, reason, now, ip)
        const browsers = { id: { notIn: [...kept.browsers] }, invitation: { accountId } }
        // In SQL, NULL matches neither IN nor NOT IN, so browser sessions without a device need their own condition.
        const unkept = { OR: [{ deviceSessionId: null }, { deviceSessionId: { notIn: [...kept.devices] } }] }
        await endBrowserSessions(tx, { ...browsers, ...unkept }, reason, now, ip)
        const passkeys = addedSince ? await removePasskeysSince(tx, accountId, addedSince, now, ip) : []
        const apiKeys = addedSince ? await revokeKeysSince(tx, accountId, addedSince, now, ip) : []
        return { devices: ended, passkeys, apiKeys }
      })
    },
  }
}
