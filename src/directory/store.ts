import type { Database, Transaction } from '../database/client.ts'
import { inTransaction } from '../database/transaction.ts'
import { makeNameTable } from './aliases.ts'
import type { DirectoryChanges } from './change-rules.ts'
import { listCallable } from './counts.ts'
import type { DirectoryCounts } from './counts.ts'
import { findOverridden, hasChanges, countChanges } from './row-changes.ts'
import type { DirectoryRowChanges } from './row-changes.ts'
import { DirectoryChangedError, findMemberChanges, saveMemberChanges, withdrawMembers } from './rows/member-rows.ts'
import {
  findBackendChanges,
  findModelChanges,
  saveBackendChanges,
  saveModelChanges,
  toAdminBackend,
  toAdminModel,
  toBackend,
  toModel,
} from './rows/model-rows.ts'
import { findTeamChanges, readTeams, removeTeams, saveTeamChanges } from './rows/team-rows.ts'
import type { Directory } from './rules.ts'
import { byId, withTeams } from './snapshot.ts'
import type { DirectorySnapshot } from './snapshot.ts'
import { findState, lockDirectory, saveState } from './state.ts'
import type { DirectoryState } from './state.ts'

/** Reads and writes the directory: organizations, teams, members, models and backends. */
export function makeDirectoryStore({ prisma: db }: Pick<Database, 'prisma'>) {
  let loaded: { readonly version: number; readonly snapshot: DirectorySnapshot } | null = null
  return {
    /**
     * Makes the rows equal to the directory in one transaction, and writes an audit event for each changed invitation,
     * team, model and backend. Rows are read before and outside of the transaction, so that other statements need not
     * wait for it, and only rows that differ are written. Processes that do this at the same time wait for each other.
     * `judge` sees the changes before they are made, and nothing is changed when it throws.
     */
    async applyDirectory(
      directory: Directory,
      now: Date,
      judge: (changes: DirectoryChanges) => void = () => undefined,
    ): Promise<DirectoryChanges> {
      for (let tries = 1; ; tries++) {
        const state = await findState(db)
        const rows = await findRowChanges(db, directory)
        const { revision = null } = directory
        const adminModels = await db.adminModel.findMany({
          select: { id: true, aliases: true },
          orderBy: { id: 'asc' },
        })
        const overridden = findOverridden(rows, adminModels, makeNameTable(directory.models))
        const changes = { ...countChanges(rows, revision, state.fileRevision), ...(overridden && { overridden }) }
        judge(changes)
        if (!hasChanges(rows) && (revision === null || revision === state.fileRevision)) return changes
        try {
          await inTransaction(db, (tx) => saveRowChanges(tx, rows, state, revision, now), TRANSACTION)
          return changes
        } catch (error) {
          if (!(error instanceof DirectoryChangedError) || tries === MAX_COMPARISONS) throw error
        }
      }
    },

    async count(): Promise<DirectoryCounts> {
      const [teams, members, backends, models] = await Promise.all([
        db.team.count(),
        db.invitation.count({ where: { revokedAt: null } }),
        db.backend.findMany({ select: { name: true } }),
        db.model.findMany({ orderBy: { id: 'asc' } }),
      ])
      return {
        teams,
        members,
        backends: backends.map(({ name }) => name),
        models: listCallable(models.map(toModel)),
      }
    },

    /**
     * Loads every team with the models that it may use, and the backends. When nothing has changed since the last call,
     * this costs one short query, and resolves with the same object. The rows are read outside of a transaction, and
     * again when the directory has changed meanwhile, so that no snapshot has a part of a change.
     */
    async loadSnapshot(): Promise<DirectorySnapshot> {
      for (let tries = 1; ; tries++) {
        const { version } = await findState(db)
        if (loaded?.version === version) return loaded.snapshot
        const snapshot = await readSnapshot(db)
        const isWhole = (await findState(db)).version === version
        if (!isWhole && tries < MAX_READS) continue
        loaded = { version, snapshot }
        return snapshot
      }
    },
  }
}

/** A first start with 20,000 members takes a minute on a busy machine. One that is given up begins anew. */
const TRANSACTION = { maxWait: 10_000, timeout: 600_000 }

/** How often rows are compared because another process has changed them meanwhile. */
const MAX_COMPARISONS = 5

/** How often a snapshot is read at most. The last one is used as it is, until the next load finds the newer version. */
const MAX_READS = 5

async function readSnapshot(db: Transaction): Promise<DirectorySnapshot> {
  const models = await db.model.findMany()
  const byModelId = new Map(models.map((row) => [row.id, toModel(row)]))
  const adminModels = Map.groupBy(await db.adminModel.findMany({ orderBy: { id: 'asc' } }), ({ teamId }) => teamId)
  const teams = (await readTeams(db)).map(({ id: teamId, organization, name, models: ids, ...row }) => {
    const own = byId(ids.map((id) => byModelId.get(id)).filter((model) => model !== undefined))
    const added = adminModels.get(teamId)?.map(toAdminModel) ?? []
    const defaultModel = row.defaultModel ?? row.adminDefaultModel
    const { timeZone } = row
    return { organization, name, defaultModel, timeZone, models: own, adminModels: added }
  })
  const backends = await db.backend.findMany({ orderBy: { name: 'asc' } })
  const adminBackends = (await db.adminBackend.findMany({ orderBy: { name: 'asc' } })).map(toAdminBackend)
  return withTeams(teams, models, backends.map(toBackend), adminBackends)
}

async function findRowChanges(db: Transaction, directory: Directory): Promise<DirectoryRowChanges> {
  const teams = await findTeamChanges(db, directory)
  return {
    teams,
    models: await findModelChanges(db, directory.models),
    backends: await findBackendChanges(db, directory.backends),
    members: await findMemberChanges(db, directory, teams.names),
  }
}

/** Rejects with a `DirectoryChangedError` when another process has changed the directory since the comparison. */
async function saveRowChanges(
  tx: Transaction,
  { teams, models, backends, members }: DirectoryRowChanges,
  state: DirectoryState,
  revision: number | null,
  now: Date,
): Promise<void> {
  await lockDirectory(tx)
  if ((await findState(tx)).version !== state.version) throw new DirectoryChangedError()
  await withdrawMembers(tx, members, now)
  await removeTeams(tx, teams, now)
  await saveModelChanges(tx, models, now)
  await saveBackendChanges(tx, backends, now)
  const teamIds = await saveTeamChanges(tx, teams, now)
  await saveMemberChanges(tx, members, teamIds, now)
  await saveState(tx, state, revision, now)
}
