import type { Database, Transaction } from '../../database/client.ts'
import type { WantedTeam } from '../../directory/admin-directory.ts'
import { withdrawInvitations } from '../../directory/invitations.ts'
import type { AdminMistake } from '../../directory/mistakes.ts'
import { toAdminModel } from '../../directory/rows/model-rows.ts'
import { raiseVersion } from '../../directory/state.ts'
import type { Actor } from '../../kernel/caller.ts'
import { withLockedDirectory } from '../directory-change.ts'
import type { DirectoryBusy } from '../directory-change.ts'
import { isFresh } from '../fresh.ts'
import { saveInvitations } from '../invitations/store.ts'
import type { ListedInvitation } from '../invitations/store.ts'
import { saveRole } from '../members/store.ts'
import { lockTeam } from '../team-access.ts'
import type { TeamActor } from '../team-access.ts'
import { deleteModel, loadTeamModels, saveDefaultModel, saveModel } from '../team-models/store.ts'
import { fingerprintOfPlan, judgeSize, makesAdmin, planTeam } from './rules.ts'
import type { CurrentTeam, PlannedChange, TeamPlan } from './rules.ts'

/** What an admin of a team wants of it. */
export type WantedOfTeam = { readonly admin: TeamActor; readonly wanted: WantedTeam }

type Invited = { readonly admin: TeamActor; readonly invitation: ListedInvitation }

/** An applied plan, and what the caller has to announce. */
export type AppliedPlan = {
  readonly plans: readonly TeamPlan[]
  /** The device sessions and API keys that ended. */
  readonly ended: readonly string[]
  readonly invited: readonly Invited[]
}

/**
 * `changed`: the fingerprint is of another plan, as the team or the directory has changed. `reauthenticate`: the plan
 * makes an admin, and the sign-in is not fresh.
 */
export type ApplyRefusal = 'changed' | 'reauthenticate' | DirectoryBusy | AdminMistake

export type DirectoryPlanStore = ReturnType<typeof makeDirectoryPlanStore>

/** Plans and applies directories of admins. */
export function makeDirectoryPlanStore({ prisma: db }: Pick<Database, 'prisma'>) {
  return {
    plan: (teams: readonly WantedOfTeam[]): Promise<readonly TeamPlan[] | AdminMistake> => planTeams(db, teams),

    /** Applies the plan of a fingerprint in one transaction, with an audit row for each change. */
    apply: (
      teams: readonly WantedOfTeam[],
      fingerprint: string,
      actor: Actor,
      now: Date,
    ): Promise<AppliedPlan | ApplyRefusal> =>
      withLockedDirectory(db, (tx) => applyOnce(tx, teams, fingerprint, actor, now), TRANSACTION),
  }
}

const TRANSACTION = { maxWait: 5000, timeout: 20_000 }

async function applyOnce(
  tx: Transaction,
  teams: readonly WantedOfTeam[],
  fingerprint: string,
  actor: Actor,
  now: Date,
): Promise<AppliedPlan | ApplyRefusal> {
  // In the order of their ids, so that two transactions do not wait for each other.
  const byId = teams.toSorted((a, b) => (a.admin.teamId < b.admin.teamId ? -1 : 1))
  for (const { admin } of byId) await lockTeam(tx, admin)
  const plans = await planTeams(tx, teams)
  if ('mistakes' in plans) return plans
  if (fingerprintOfPlan(plans) !== fingerprint) return 'changed'
  if (makesAdmin(plans) && !isFresh(actor, now)) return 'reauthenticate'
  const ended: string[] = []
  const invited: Invited[] = []
  for (const [i, { admin }] of teams.entries()) {
    const changes = plans[i]?.changes ?? []
    ended.push(...(await removeMembers(tx, changes, admin, now)))
    const invitations = await addMembers(tx, changes, admin, now)
    invited.push(...invitations.map((invitation) => ({ admin, invitation })))
    for (const change of changes) await applyChange(tx, change, admin, now)
  }
  const changes = plans.flatMap((plan) => plan.changes)
  if (changes.some(({ kind }) => kind !== 'member')) await raiseVersion(tx, now)
  return { plans, ended, invited }
}

/** Removes all members of a plan at once; returns the device sessions and API keys that ended. */
async function removeMembers(
  tx: Transaction,
  changes: readonly PlannedChange[],
  admin: TeamActor,
  now: Date,
): Promise<string[]> {
  const rows = changes.flatMap((one) => (one.kind === 'member' && one.change === 'removed' ? [one.row] : []))
  return withdrawInvitations(tx, rows, admin, now)
}

/** Invites all new members of a plan at once. */
async function addMembers(
  tx: Transaction,
  changes: readonly PlannedChange[],
  admin: TeamActor,
  now: Date,
): Promise<ListedInvitation[]> {
  const wanted = changes.flatMap((one) =>
    one.kind === 'member' && one.change === 'added' ? [{ email: one.name, role: one.after }] : [],
  )
  return saveInvitations(tx, admin, wanted, now)
}

/** Applies a change other than a new or removed member. */
async function applyChange(tx: Transaction, change: PlannedChange, admin: TeamActor, now: Date): Promise<void> {
  if (change.kind === 'default_model') {
    await saveDefaultModel(tx, admin, change, now)
  } else if (change.kind === 'member') {
    if (change.change === 'changed') await saveRole(tx, change.row, change.after, admin, now)
  } else if (change.change === 'removed') {
    await deleteModel(tx, admin, change.name, now)
  } else {
    const kind = change.change === 'added' ? 'model.created' : 'model.changed'
    await saveModel(tx, admin, { kind, id: change.name, settings: change.settings }, now)
  }
}

async function planTeams(db: Transaction, teams: readonly WantedOfTeam[]): Promise<readonly TeamPlan[] | AdminMistake> {
  const plans: TeamPlan[] = []
  for (const { admin, wanted } of teams) {
    const plan = planTeam(wanted, await findCurrent(db, admin.teamId))
    if ('mistakes' in plan) return plan
    plans.push(plan)
  }
  return judgeSize(plans) ?? plans
}

async function findCurrent(db: Transaction, teamId: string): Promise<CurrentTeam> {
  const { team, fileModels, ownBackends, names } = await loadTeamModels(db, teamId)
  const rows = await db.invitation.findMany({
    where: { teamId, revokedAt: null },
    include: { account: { select: { email: true } } },
    orderBy: { id: 'asc' },
  })
  return {
    members: rows.map(({ id, accountId, role, source, account }) => {
      return { id, accountId, teamId, role, source, email: account.email }
    }),
    defaultModel: team.defaultModel,
    adminDefaultModel: team.adminDefaultModel,
    fileModels,
    adminModels: team.adminModels.map(toAdminModel),
    ownBackends,
    names,
  }
}
