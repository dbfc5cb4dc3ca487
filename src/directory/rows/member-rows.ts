/** The invitations of members whom the directory file lists. */
import { setImmediate } from 'node:timers/promises'
import type { Transaction } from '../../database/client.ts'
import type { Role } from '../../kernel/caller.ts'
import { newRowIds, newUserHandle, NIL_UUID } from '../../kernel/identifier.ts'
import { formatTeamName } from '../../kernel/team-name.ts'
import { invitationEvent, withdrawInvitations } from '../invitations.ts'
import type { Directory } from '../rules.ts'
import { batchesOf } from './compare.ts'
import { withoutReferenceChecks } from './unchecked-references.ts'

type InvitationRow = {
  readonly id: string
  readonly accountId: string
  readonly teamId: string
  readonly role: Role
  readonly email: string
  readonly source: 'directory' | 'admin'
  readonly revokedAt: Date | null
}

type Member = { readonly email: string; readonly team: string; readonly role: Role }

export type MemberRowChanges = {
  /** The members that the file listed before, and those whom admins have invited to teams that it removes. */
  readonly before: number
  readonly invited: readonly Member[]
  /** Existing invitations that become the file's, or active again, or get another role. */
  readonly changed: readonly { readonly row: InvitationRow; readonly role: Role }[]
  readonly withdrawn: readonly InvitationRow[]
}

/** Another process has written the same rows since they were read. */
export class DirectoryChangedError extends Error {
  override readonly name = 'DirectoryChangedError'

  constructor() {
    super('The directory has changed each time that the file was compared with it. Apply the file again.')
  }
}

/**
 * Compares the invitations with the members of the directory. `teamNames`: the teams that stay, by id; the invitations
 * of all other teams are withdrawn. Invitations by admins stay unless the file lists the person too.
 */
export async function findMemberChanges(
  db: Transaction,
  { organizations }: Directory,
  teamNames: ReadonlyMap<string, string>,
): Promise<MemberRowChanges> {
  const left = new Map(organizations.flatMap(toMembers).map((member) => [keyOf(member.team, member.email), member]))
  const changed: { row: InvitationRow; role: Role }[] = []
  const withdrawn: InvitationRow[] = []
  let before = 0
  for await (const row of readInvitations(db)) {
    const team = teamNames.get(row.teamId)
    const key = keyOf(team ?? '', row.email)
    const wanted = left.get(key)
    left.delete(key)
    const isActive = row.revokedAt === null
    const isListed = isActive && row.source === 'directory'
    const isOfFile = isListed || (isActive && team === undefined)
    if (isOfFile) before += 1
    if (wanted && !(isListed && row.role === wanted.role)) changed.push({ row, role: wanted.role })
    if (!wanted && isOfFile) withdrawn.push(row)
  }
  return { before, invited: [...left.values()], changed, withdrawn }
}

function toMembers({ name: organization, teams }: Directory['organizations'][number]): Member[] {
  return teams.flatMap(({ name, members }) => {
    const team = formatTeamName({ organization, name })
    return members.map((member) => ({ ...member, team }))
  })
}

const keyOf = (team: string, email: string) => `${team} ${email}`

const ROWS_A_PAGE = 1000

/** Reads all invitations, page by page: other work of this process runs between two pages. */
async function* readInvitations(db: Transaction): AsyncGenerator<InvitationRow> {
  let after = NIL_UUID
  for (;;) {
    const page = await db.$queryRaw<InvitationRow[]>`
      SELECT i.id::text, i.account_id::text AS "accountId", i.team_id::text AS "teamId", i.role::text, a.email,
        i.source::text, i.revoked_at AS "revokedAt"
      FROM invitations i JOIN accounts a ON a.id = i.account_id
      WHERE i.id > ${after}::uuid ORDER BY i.id LIMIT ${ROWS_A_PAGE}::int`
    yield* page
    after = page.at(-1)?.id ?? after
    if (page.length < ROWS_A_PAGE) return
    await setImmediate()
  }
}

/** Withdraws invitations, and ends everything that depends on them. */
export async function withdrawMembers(tx: Transaction, { withdrawn }: MemberRowChanges, now: Date): Promise<void> {
  for (const batch of batchesOf(withdrawn)) await withdrawInvitations(tx, batch, 'directory', now)
}

/**
 * Invites new members and changes invitations, with an audit event for each. Sessions that have ended stay ended.
 * Rejects with a `DirectoryChangedError` when an admin has invited or removed one of them since `findMemberChanges`.
 */
export async function saveMemberChanges(
  tx: Transaction,
  { invited, changed }: MemberRowChanges,
  teamIds: ReadonlyMap<string, string>,
  now: Date,
): Promise<void> {
  // In the order of the file: a sign-in that names no team is for the first one.
  const ids = newRowIds(invited.length, now)
  await withoutReferenceChecks(tx, invited.length, async () => {
    for (const batch of batchesOf(invited.map((member, at) => ({ ...member, id: ids[at] ?? '' })))) {
      await invite(tx, batch, teamIds, now)
      // Other work of this process runs between two batches.
      await setImmediate()
    }
  })
  for (const role of ['member', 'admin'] as const) {
    const rows = changed.filter((change) => change.role === role).map(({ row }) => row)
    for (const batch of batchesOf(rows)) await changeInvitations(tx, batch, role, now)
  }
}

/**
 * Saves the accounts, the invitations and the audit events of a batch of new members. Each statement takes columns as
 * arrays: with a parameter for each value, 20,000 members take four times as long.
 */
async function invite(
  tx: Transaction,
  batch: readonly (Member & { readonly id: string })[],
  teamIds: ReadonlyMap<string, string>,
  now: Date,
): Promise<void> {
  const emails = batch.map(({ email }) => email)
  const ids = batch.map(({ id }) => id)
  const handles = batch.map(() => Buffer.from(newUserHandle()).toString('hex'))
  await tx.$executeRaw`
    INSERT INTO accounts (id, email, user_handle, created_at)
    SELECT id, email, decode(handle, 'hex'), ${now}::timestamptz
    FROM unnest(${newRowIds(batch.length, now)}::uuid[], ${emails}::text[], ${handles}::text[])
      AS member (id, email, handle)
    ON CONFLICT (email) DO NOTHING`
  const teams = batch.map(({ team }) => teamIds.get(team) ?? '')
  const roles = batch.map(({ role }) => role)
  const count = await tx.$executeRaw`
    INSERT INTO invitations (id, account_id, team_id, role, source, created_at)
    SELECT member.id, a.id, team_id, role::"Role", 'directory', ${now}::timestamptz
    FROM unnest(${ids}::uuid[], ${emails}::text[], ${teams}::uuid[], ${roles}::text[])
      AS member (id, email, team_id, role)
    JOIN accounts a ON a.email = member.email
    ON CONFLICT (account_id, team_id) DO NOTHING`
  if (count < batch.length) throw new DirectoryChangedError()
  // As `invitationEvent` makes them.
  await tx.$executeRaw`
    INSERT INTO audit_events (kind, at, account_id, team_id, subject_id, details)
    SELECT 'invitation.created', ${now}::timestamptz, account_id, team_id, id::text,
      jsonb_build_object('role', role, 'by', 'directory')
    FROM invitations WHERE id = ANY(${ids}::uuid[]) ORDER BY id`
}

/**
 * Makes invitations active, with this role and owned by the file. Each must still be active, or withdrawn, as it was
 * when it was read.
 */
async function changeInvitations(tx: Transaction, rows: InvitationRow[], role: Role, now: Date): Promise<void> {
  const ids = rows.map(({ id }) => id)
  const wereRevoked = rows.map(({ revokedAt }) => revokedAt !== null)
  const count = await tx.$executeRaw`
    UPDATE invitations SET role = ${role}::"Role", source = 'directory', revoked_at = NULL
    FROM unnest(${ids}::uuid[], ${wereRevoked}::boolean[]) AS read (id, was_revoked)
    WHERE invitations.id = read.id AND (revoked_at IS NOT NULL) = was_revoked`
  if (count < rows.length) throw new DirectoryChangedError()
  await tx.auditEvent.createMany({
    data: rows.map(({ revokedAt, ...row }) => {
      const kind = revokedAt ? 'invitation.restored' : 'invitation.changed'
      return invitationEvent(kind, { ...row, role }, 'directory', now)
    }),
  })
}
