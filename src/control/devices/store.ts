import type { Prisma, PrismaClient } from '../../../generated/prisma/client.ts'
import type { Database, Transaction } from '../../database/client.ts'
import { inTransaction } from '../../database/transaction.ts'
import type { Actor } from '../../kernel/caller.ts'
import { addSeconds } from '../../kernel/clock.ts'
import { teamNameOf } from '../../kernel/team-name.ts'
import { revokeKeysSince } from '../api-keys/store.ts'
import type { SessionEnd } from '../audit/ended-sessions.ts'
import { endBrowserSessions } from '../browser-session/store.ts'
import { REDEMPTION_SECONDS } from '../device-login/rules.ts'
import { removePasskeysSince } from '../passkeys/store.ts'
import { endDeviceSessions } from '../tokens/end-device-sessions.ts'
import type { ApprovedVia } from '../tokens/rules.ts'
import { chooseDeviceName, readUserAgentName } from './device-name.ts'

/** A signed-in device or browser, and how it was approved. */
export type ListedDevice = {
  readonly kind: 'device' | 'browser'
  readonly sessionId: string
  readonly deviceId: string
  readonly deviceName: string
  readonly team: string
  readonly firstSeenAt: Date
  readonly lastSeenAt: Date
  readonly lastIp: string
  readonly approvedVia: ApprovedVia
  /** The device whose session approved it; null when a browser, an email or a passkey did. */
  readonly approverName: string | null
}

export type DeviceStore = ReturnType<typeof makeDeviceStore>

/** The devices of an account, for their owner. */
export function makeDeviceStore({ prisma: db }: Pick<Database, 'prisma'>) {
  return {
    /** The signed-in devices and browsers, each once, the last seen first. */
    async list(accountId: string, now: Date): Promise<ListedDevice[]> {
      const listed = [...(await listDevices(db, accountId, now)), ...(await listBrowsers(db, accountId, now))]
      return listed.toSorted(
        (a, b) => b.lastSeenAt.getTime() - a.lastSeenAt.getTime() || (a.sessionId < b.sessionId ? 1 : -1),
      )
    },

    /** Ends a session of this account by the id of the list; false when the account has no live one with this id. */
    async revoke({ accountId, ip }: Actor, sessionId: string, now: Date): Promise<boolean> {
      const own = { id: sessionId, invitation: { accountId } }
      const end = { at: now, reason: 'signed_out', ip } as const
      return inTransaction(db, async (tx) => {
        const devices = await endDeviceSessions(tx, own, end)
        return devices.length > 0 || (await endBrowserSessions(tx, own, end)) > 0
      })
    },

    /**
     * The time at which a device or browser of this account first signed in, also one that has ended. Null when it is
     * not known.
     */
    async findFirstSignIn(sessionId: string, accountId: string): Promise<Date | null> {
      const where = { id: sessionId, invitation: { accountId } }
      const device = await db.deviceSession.findFirst({ where, select: { deviceId: true } })
      if (device) return (await findFirstSignIns(db, accountId, [device])).get(device.deviceId) ?? null
      const browser = await db.browserSession.findFirst({ where, select: { createdAt: true } })
      return browser?.createdAt ?? null
    },

    /**
     * Ends every session of the account but those with a kept id, cancels every login that could still become a
     * session, and removes the passkeys and API keys that were added since a time (null: none). Returns the ids of the
     * device sessions and keys that ended, how many browsers besides, and the names of the removed passkeys.
     */
    async revokeAll(
      actor: Actor,
      { kept, addedSince }: { readonly kept: string[]; readonly addedSince: Date | null },
      now: Date,
    ): Promise<{ devices: string[]; browsers: number; passkeys: string[]; apiKeys: string[] }> {
      const { accountId, ip } = actor
      const end = { at: now, reason: 'signed_out_everywhere', ip } as const
      return inTransaction(db, async (tx) => {
        // A session that is being opened waits for this row, and then finds its login cancelled.
        await tx.$queryRaw`SELECT id FROM accounts WHERE id = ${accountId}::uuid FOR UPDATE`
        await cancelSignIns(tx, accountId, end)
        const unkept = { id: { notIn: kept }, invitation: { accountId } }
        const devices = await endDeviceSessions(tx, unkept, end)
        // In SQL, NULL matches neither IN nor NOT IN, so browser sessions without a device need their own condition.
        const ofNoKept = { OR: [{ deviceSessionId: null }, { deviceSessionId: { notIn: kept } }] }
        const browsers = await endBrowserSessions(tx, { ...unkept, ...ofNoKept }, end)
        const passkeys = addedSince ? await removePasskeysSince(tx, actor, addedSince, now) : []
        const apiKeys = addedSince ? await revokeKeysSince(tx, actor, addedSince, now) : []
        return { devices, browsers, passkeys, apiKeys }
      })
    },
  }
}

/**
 * Cancels every login of the account that could still become a session, and its unopened sign-in links, with an audit
 * row for each.
 */
async function cancelSignIns(tx: Transaction, accountId: string, { at, reason, ip }: SessionEnd): Promise<void> {
  const ofAccount = { invitation: { accountId } }
  const cancel = {
    // Approved ones too: the link of a login that was approved by its code can still sign a browser in.
    where: { ...ofAccount, status: { in: ['pending', 'approved'] } },
    data: { status: 'cancelled', userCode: null },
  } satisfies Prisma.DeviceLoginUpdateManyArgs
  const isRedeemable = [{ expiresAt: { gt: at } }, { approvedAt: { gt: addSeconds(at, -REDEMPTION_SECONDS) } }]
  const open = { ...cancel.where, deviceSession: null, OR: isRedeemable }
  const logins = await tx.deviceLogin.updateManyAndReturn({ ...cancel, where: open, select: { id: true } })
  // The others have ended, or have a session. Only the links of their emails are left.
  await tx.deviceLogin.updateMany(cancel)
  const links = await tx.signInLink.deleteMany({ where: { ...ofAccount, usedAt: null, expiresAt: { gt: at } } })
  const event = { at, accountId, ip, details: { reason } }
  await tx.auditEvent.createMany({
    data: [
      ...logins.map(({ id: subjectId }) => ({ ...event, kind: 'device_login.cancelled', subjectId })),
      ...Array.from({ length: links.count }, () => ({ ...event, kind: 'sign_in_link.cancelled' })),
    ],
  })
}

const WITH_TEAM = { select: { team: { include: { organization: true } } } } as const

/**
 * When devices of an account first signed in, by device id. A device that signs in again has a new session. If only
 * that counted, a thief could sign in again, and the passkeys that the thief has added would be older than the device.
 */
async function findFirstSignIns(
  db: PrismaClient,
  accountId: string,
  devices: readonly { readonly deviceId: string }[],
): Promise<Map<string, Date | null>> {
  const rows = await db.deviceSession.groupBy({
    by: ['deviceId'],
    where: { deviceId: { in: devices.map(({ deviceId }) => deviceId) }, invitation: { accountId } },
    _min: { createdAt: true },
  })
  return new Map(rows.map(({ deviceId, _min }) => [deviceId, _min.createdAt]))
}

/** The device sessions, browsers with tokens in cookies among them. */
async function listDevices(db: PrismaClient, accountId: string, now: Date): Promise<ListedDevice[]> {
  const rows = await db.deviceSession.findMany({
    where: { revokedAt: null, idleExpiresAt: { gt: now }, invitation: { accountId, revokedAt: null } },
    include: {
      login: { select: { approvedVia: true, approverSessionId: true } },
      invitation: WITH_TEAM,
    },
  })
  const approverIds = rows.flatMap(({ login }) => login?.approverSessionId ?? [])
  const approvers = await db.deviceSession.findMany({
    where: { id: { in: approverIds } },
    select: { id: true, deviceName: true },
  })
  const nameOf = new Map(approvers.map(({ id, deviceName }) => [id, deviceName]))
  const firstSignIns = await findFirstSignIns(db, accountId, rows)
  return rows.map(({ id, login, invitation: { team }, createdAt, ...row }) => ({
    kind: row.isBrowser ? 'browser' : 'device',
    sessionId: id,
    deviceId: row.deviceId,
    deviceName: row.deviceName,
    team: teamNameOf(team),
    firstSeenAt: firstSignIns.get(row.deviceId) ?? createdAt,
    lastSeenAt: row.lastSeenAt,
    lastIp: row.lastIp,
    approvedVia: login?.approvedVia ?? 'passkey',
    approverName: nameOf.get(login?.approverSessionId ?? '') ?? null,
  }))
}

/** The browsers that a link in an email signed in. Those of a passkey are device sessions. */
async function listBrowsers(db: PrismaClient, accountId: string, now: Date): Promise<ListedDevice[]> {
  const rows = await db.browserSession.findMany({
    where: {
      deviceSessionId: null,
      revokedAt: null,
      idleExpiresAt: { gt: now },
      absoluteExpiresAt: { gt: now },
      invitation: { accountId, revokedAt: null },
    },
    include: { invitation: WITH_TEAM },
  })
  return rows.map(({ id, invitation: { team }, createdAt, lastSeenAt, ip, userAgent }) => ({
    kind: 'browser',
    sessionId: id,
    deviceId: `web-${id}`,
    deviceName: chooseDeviceName([readUserAgentName(userAgent)]),
    team: teamNameOf(team),
    firstSeenAt: createdAt,
    lastSeenAt,
    lastIp: ip,
    approvedVia: 'mail',
    approverName: null,
  }))
}
