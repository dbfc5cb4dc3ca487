import { setTimeout as sleep } from 'node:timers/promises'
import type { Prisma, PrismaClient } from '../../generated/prisma/client.ts'
import type { Role } from '../kernel/caller.ts'
import { withRetry } from '../database/errors.ts'
import { formatTeamName } from '../kernel/team-name.ts'
import type { TeamName } from '../kernel/team-name.ts'
import { newUserHandle } from '../kernel/user-handle.ts'
import type { DirectoryChanges } from './change-rules.ts'
import { countChanges, findLastRevision, findListedMembers, saveRevision } from './changes.ts'
import type { DirectoryCounts } from './counts.ts'
import { applyBackends, applyModels, differs, toBackend, toModel } from './model-rows.ts'
import type { Directory } from './rules.ts'
import { byId, withTeams } from './snapshot.ts'
import type { DirectorySnapshot } from './snapshot.ts'

/** Reads and writes the directory: organizations, teams, members, models and backends. */
export function directoryStore(db: PrismaClient) {
  return {
    /**
     * Makes the rows equal to the directory in one transaction, and writes an audit event for each changed invitation
     * and team. Unchanged rows are not written. Processes that do this at the same time wait for each other. `judge`
     * sees the changes before they are committed, and nothing is changed when it throws.
     */
    async applyDirectory(
      directory: Directory,
      now: Date,
      judge: (changes: DirectoryChanges) => void = () => undefined,
    ): Promise<DirectoryChanges> {
      const apply = async (tx: Transaction) => {
        await lockDirectory(tx)
        const before = await findListedMembers(tx)
        const lastRevision = await findLastRevision(tx)
        await applyModels(tx, directory.models, now)
        await applyBackends(tx, directory.backends)
        const teamIds = await applyTeams(tx, directory, now)
        await applyAllowLists(tx, directory, teamIds)
        await applyMembers(tx, directory, teamIds, now)
        const { revision = null } = directory
        const changes = { ...countChanges(before, await findListedMembers(tx)), revision, lastRevision }
        judge(changes)
        if (revision !== null && revision !== lastRevision) await saveRevision(tx, revision, now)
        return changes
      }
      return withRetry(() => db.$transaction(apply, { maxWait: 10_000, timeout: 60_000 }))
    },

    async count(): Promise<DirectoryCounts> {
      const [teams, members, backends] = await Promise.all([
        db.team.count(),
        db.invitation.count({ where: { revokedAt: null } }),
        db.backend.findMany({ select: { name: true } }),
      ])
      return { teams, members, backends: backends.map(({ name }) => name) }
    },

    /** Loads every team with the models that it may use, and the backends. */
    async loadSnapshot(): Promise<DirectorySnapshot> {
      const rows = await db.team.findMany({
        include: { organization: true, models: { include: { model: true } } },
      })
      const teams = rows.map(({ name, organization, defaultModel, models }) => {
        const own = byId(models.map(({ model }) => toModel(model)))
        return { organization: organization.name, name, defaultModel, models: own }
      })
      const backends = await db.backend.findMany({ orderBy: { name: 'asc' } })
      const named = await db.model.findMany({ select: { id: true, aliases: true } })
      return withTeams(teams, named, backends.map(toBackend))
    },
  }
}

type Transaction = Prisma.TransactionClient

/** An arbitrary number that identifies this lock. */
const DIRECTORY_LOCK = 5_150_331_846_001n
const LOCK_RETRY_MS = 50
const MAX_LOCK_TRIES = 600

/** Polls for the lock, because a statement that waits for it in the database would exceed the statement timeout. */
async function lockDirectory(tx: Transaction): Promise<void> {
  for (let tries = 1; tries <= MAX_LOCK_TRIES; tries++) {
    const [row] = await tx.$queryRaw<{ taken: boolean }[]>`SELECT pg_try_advisory_xact_lock(${DIRECTORY_LOCK}) AS taken`
    if (row?.taken) return
    await sleep(LOCK_RETRY_MS)
  }
  throw new Error('Another process has been applying its directory file for half a minute.')
}

/** Ids of teams by `@organization/name`. */
type TeamIds = ReadonlyMap<string, string>

async function applyTeams(tx: Transaction, { organizations }: Directory, now: Date): Promise<TeamIds> {
  const wanted = organizations.flatMap(({ name: organization, teams }) =>
    teams.map(({ name, defaultModel }) => ({ organization, name, defaultModel })),
  )
  await removeTeams(tx, new Set(wanted.map(formatTeamName)), now)
  const organizationIds = await applyOrganizations(tx, organizations)

  const kept = await readTeams(tx)
  for (const team of wanted) {
    const { defaultModel } = team
    const row = kept.get(formatTeamName(team))
    const organizationId = organizationIds.get(team.organization)
    if (!row && organizationId) await addTeam(tx, team, organizationId, now)
    if (row && row.defaultModel !== defaultModel)
      await tx.team.update({ where: { id: row.id }, data: { defaultModel } })
  }
  return new Map([...(await readTeams(tx))].map(([name, { id }]) => [name, id]))
}

async function applyOrganizations(tx: Transaction, organizations: Directory['organizations']) {
  const names = organizations.map(({ name }) => name)
  await tx.organization.deleteMany({ where: { name: { notIn: names } } })
  await tx.organization.createMany({ data: names.map((name) => ({ name })), skipDuplicates: true })
  return new Map((await tx.organization.findMany()).map(({ id, name }) => [name, id]))
}

async function readTeams(tx: Transaction) {
  const rows = await tx.team.findMany({ include: { organization: true } })
  return new Map(rows.map((row) => [formatTeamName({ organization: row.organization.name, name: row.name }), row]))
}

async function addTeam(
  tx: Transaction,
  team: TeamName & { defaultModel: string | null },
  organizationId: string,
  now: Date,
) {
  const { id } = await tx.team.create({ data: { organizationId, name: team.name, defaultModel: team.defaultModel } })
  await tx.auditEvent.create({ data: teamEvent('team.created', id, formatTeamName(team), now) })
}

/** Removes teams with their rows. Their members are signed out first, so that the audit log records it. */
async function removeTeams(tx: Transaction, wanted: ReadonlySet<string>, now: Date): Promise<void> {
  const gone = [...(await readTeams(tx))].filter(([name]) => !wanted.has(name))
  const ids = gone.map(([, { id }]) => id)
  const members = await tx.invitation.findMany({ where: { teamId: { in: ids }, revokedAt: null } })
  await withdrawInvitations(tx, members, DIRECTORY, now)
  await tx.team.deleteMany({ where: { id: { in: ids } } })
  await tx.auditEvent.createMany({ data: gone.map(([name, { id }]) => teamEvent('team.removed', id, name, now)) })
}

function teamEvent(kind: string, teamId: string, team: string, now: Date) {
  return { kind, at: now, teamId, subjectId: teamId, details: { team } }
}

async function applyAllowLists(tx: Transaction, { organizations }: Directory, teamIds: TeamIds): Promise<void> {
  const wanted = eachTeam(organizations, teamIds).flatMap(({ teamId, models }) =>
    models.map((modelId) => ({ teamId, modelId })),
  )
  const wantedKeys = new Set(wanted.map(keyOf))
  const kept = await tx.teamModel.findMany()
  const keptKeys = new Set(kept.map(keyOf))

  for (const { teamId, modelId } of kept.filter((row) => !wantedKeys.has(keyOf(row)))) {
    await tx.teamModel.delete({ where: { teamId_modelId: { teamId, modelId } } })
  }
  await tx.teamModel.createMany({ data: wanted.filter((row) => !keptKeys.has(keyOf(row))) })
}

function keyOf({ teamId, modelId }: { teamId: string; modelId: string }): string {
  return `${teamId} ${modelId}`
}

function eachTeam(organizations: Directory['organizations'], teamIds: TeamIds) {
  return organizations.flatMap(({ name: organization, teams }) =>
    teams.map((team) => ({ ...team, teamId: teamIds.get(formatTeamName({ organization, name: team.name })) ?? '' })),
  )
}

// ---- Members -------------------------------------------------------------------------------------------------------

type Membership = { readonly accountId: string; readonly teamId: string; readonly role: Role }

/** Invites the members that the file lists and withdraws those that it listed before. Invitations by admins stay. */
async function applyMembers(tx: Transaction, { organizations }: Directory, teamIds: TeamIds, now: Date): Promise<void> {
  const teams = eachTeam(organizations, teamIds)
  const emails = new Set(teams.flatMap(({ members }) => members.map(({ email }) => email)))
  const accountIds = await ensureAccounts(tx, [...emails], now)
  const wanted = teams.flatMap(({ teamId, members }) =>
    members.map(({ email, role }) => ({ teamId, role, accountId: accountIds.get(email) ?? '' })),
  )
  const kept = await tx.invitation.findMany()
  const find = new Map(kept.map((row) => [`${row.accountId} ${row.teamId}`, row]))
  const stays = new Set<string>()
  for (const membership of wanted) {
    const row = find.get(`${membership.accountId} ${membership.teamId}`)
    if (row) stays.add(row.id)
    if (!row) await invite(tx, membership, now)
    else await adopt(tx, row, membership.role, now)
  }
  const dropped = kept.filter(({ id, source, revokedAt }) => !stays.has(id) && source === 'directory' && !revokedAt)
  await withdrawInvitations(tx, dropped, DIRECTORY, now)
}

/** Finds the ids of accounts by email address, and creates the missing accounts. */
export async function ensureAccounts(
  tx: Transaction,
  emails: readonly string[],
  now: Date,
): Promise<Map<string, string>> {
  const find = async () => {
    const rows = await tx.account.findMany({ where: { email: { in: [...emails] } }, select: { id: true, email: true } })
    return new Map(rows.map(({ id, email }) => [email, id]))
  }
  const known = await find()
  const added = emails.filter((email) => !known.has(email))
  if (added.length === 0) return known
  await tx.account.createMany({
    data: added.map((email) => ({ email, userHandle: newUserHandle(), createdAt: now })),
    // An admin may be inviting the same person at the same time.
    skipDuplicates: true,
  })
  return find()
}

async function invite(tx: Transaction, { accountId, teamId, role }: Membership, now: Date): Promise<void> {
  const row = await tx.invitation.create({ data: { accountId, teamId, role, source: 'directory', createdAt: now } })
  await tx.auditEvent.create({ data: invitationEvent('invitation.created', row, DIRECTORY, now) })
}

type Invitation = Prisma.InvitationGetPayload<object>

/** Makes an existing invitation active, with this role and owned by the file. Sessions that have ended stay ended. */
async function adopt(tx: Transaction, row: Invitation, role: Role, now: Date): Promise<void> {
  const wanted = { role, source: 'directory' as const, revokedAt: null }
  if (!differs(row, wanted)) return
  const changed = await tx.invitation.update({ where: { id: row.id }, data: wanted })
  const kind = row.revokedAt ? 'invitation.restored' : 'invitation.changed'
  await tx.auditEvent.create({ data: invitationEvent(kind, changed, DIRECTORY, now) })
}

/** The author of a change of an invitation: the directory file or an admin of the team. */
export type Inviter =
  { readonly by: 'directory' } | { readonly by: 'admin'; readonly accountId: string; readonly ip: string }

const DIRECTORY: Inviter = { by: 'directory' }

/**
 * Withdraws invitations and ends everything that depends on them: sessions, and logins that could still become
 * sessions. Resolves with the ids of the device sessions that ended.
 */
export async function withdrawInvitations(
  tx: Transaction,
  invitations: readonly Invitation[],
  inviter: Inviter,
  now: Date,
): Promise<string[]> {
  if (invitations.length === 0) return []
  const ids = { in: invitations.map(({ id }) => id) }
  const ended = { revokedAt: now, revokedReason: 'invitation_withdrawn' }
  // The invitation is written first: a concurrent login that creates a session waits for this row and then sees it
  // withdrawn.
  await tx.invitation.updateMany({ where: { id: ids, revokedAt: null }, data: { revokedAt: now } })
  // Logins before sessions: a link that is being clicked has locked its login, so this waits for the browser session
  // that the click begins, and the statements below end it. A later click finds its login cancelled.
  await tx.deviceLogin.updateMany({
    where: { invitationId: ids, status: { in: ['pending', 'approved'] } },
    data: { status: 'cancelled', userCode: null },
  })
  const devices = await tx.deviceSession.updateManyAndReturn({
    where: { invitationId: ids, revokedAt: null },
    data: ended,
    select: { id: true },
  })
  await tx.browserSession.updateMany({ where: { invitationId: ids, revokedAt: null }, data: ended })
  await tx.auditEvent.createMany({
    data: invitations.map((row) => invitationEvent('invitation.withdrawn', row, inviter, now)),
  })
  return devices.map(({ id }) => id)
}

/** The audit event for a change of an invitation. */
export function invitationEvent(
  kind: 'invitation.created' | 'invitation.changed' | 'invitation.restored' | 'invitation.withdrawn',
  { id, accountId, teamId, role }: Invitation,
  inviter: Inviter,
  now: Date,
) {
  const event = { kind, at: now, accountId, teamId, subjectId: id }
  if (inviter.by === 'directory') return { ...event, details: { role, by: inviter.by } }
  return { ...event, ip: inviter.ip, details: { role, by: inviter.by, adminId: inviter.accountId } }
}
