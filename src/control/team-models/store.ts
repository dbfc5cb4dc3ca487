import type { Database, Transaction } from '../../database/client.ts'
import { judgeAdminModel, refuseListed, resolveAdminModel } from '../../directory/admin-models.ts'
import type { AdminModel, AdminModelSettings } from '../../directory/admin-models.ts'
import { makeNameTable } from '../../directory/aliases.ts'
import type { NameTable } from '../../directory/aliases.ts'
import { invalid, taken } from '../../directory/mistakes.ts'
import { toAdminModel, toModel } from '../../directory/rows/model-rows.ts'
import { byId } from '../../directory/snapshot.ts'
import type { SnapshotModel } from '../../directory/rules.ts'
import { refuseOutdated, versionOfModel } from '../../directory/version.ts'
import type { Versioned } from '../../directory/version.ts'
import { saveTeamEvent } from '../audit/save-team-event.ts'
import { changeDirectory } from '../directory-change.ts'
import type { DirectoryRefusal } from '../directory-change.ts'
import { unknownTeam } from '../team-access.ts'
import type { TeamActor } from '../team-access.ts'

/** The models of a team, and where its default model comes from. */
export type ModelsOfTeam = {
  /** Of the directory file. */
  readonly fileModels: readonly SnapshotModel[]
  /** Added by admins; `usable`: as the gateway serves it, null when it cannot be called. */
  readonly adminModels: readonly { readonly model: AdminModel; readonly usable: SnapshotModel | null }[]
  readonly defaultModel: string | null
  readonly defaultModelSource: 'file' | 'admin' | null
}

export type TeamModelStore = ReturnType<typeof makeTeamModelStore>

/** The models that admins of teams add, and the default models that they choose. */
export function makeTeamModelStore({ prisma: db }: Pick<Database, 'prisma'>) {
  return {
    async find(teamId: string): Promise<ModelsOfTeam> {
      const { team, ...sources } = await loadTeamModels(db, teamId)
      const { defaultModel, adminDefaultModel, adminModels } = team
      return {
        fileModels: sources.fileModels,
        adminModels: adminModels.map((row) => {
          const model = toAdminModel(row)
          return { model, usable: resolveAdminModel(model, sources) }
        }),
        defaultModel: defaultModel ?? adminDefaultModel,
        defaultModelSource: defaultModel !== null ? 'file' : adminDefaultModel !== null ? 'admin' : null,
      }
    },

    /**
     * Adds a model, or replaces one that an admin has added, with its audit row. `version`: the one that the model must
     * still have; undefined: no condition.
     */
    put: (
      admin: TeamActor,
      id: string,
      { version, ...wanted }: AdminModelSettings & Versioned,
      now: Date,
    ): Promise<DirectoryRefusal | null> =>
      changeDirectory(db, admin, now, async (tx) => {
        const { team, ...sources } = await loadTeamModels(tx, admin.teamId)
        const current = team.adminModels.find((model) => model.id === id)
        const others = team.adminModels.filter((other) => other !== current)
        const outdated = refuseOutdated(version, current ? versionOfModel(toAdminModel(current)) : null)
        if (outdated) return outdated
        const mistake = judgeAdminModel(id, wanted, { team: admin.team, ...sources, others })
        if (mistake) return mistake
        const kind = current ? 'model.changed' : 'model.created'
        await saveModel(tx, admin, { kind, id, settings: wanted }, now)
        return null
      }),

    /** Deletes a model that an admin has added, with its audit row. */
    remove: (admin: TeamActor, id: string, now: Date): Promise<DirectoryRefusal | null> =>
      changeDirectory(db, admin, now, async (tx) => {
        const { team, fileModels } = await loadTeamModels(tx, admin.teamId)
        if (fileModels.some((model) => model.id === id)) return refuseListed(id)
        if (!team.adminModels.some((model) => model.id === id)) return { kind: 'not_found' }
        if (team.defaultModel === null && team.adminDefaultModel === id)
          return taken([], 'This is the default model of the team. Choose another default model first.')
        await deleteModel(tx, admin, id, now)
        return null
      }),

    /** Chooses the default model of a team, with its audit row. `unchanged`: it was chosen already. */
    setDefault: (admin: TeamActor, id: string | null, now: Date): Promise<DirectoryRefusal | 'unchanged' | null> =>
      changeDirectory(db, admin, now, async (tx) => {
        const { team, fileModels } = await loadTeamModels(tx, admin.teamId)
        if (team.defaultModel !== null)
          return taken([], 'The directory file sets the default model of the team. Change it there.')
        const isKnown = [...fileModels, ...team.adminModels].some((model) => model.id === id)
        if (id !== null && !isKnown) return invalid(['defaultModel'], 'must be a model of the team, by its id.')
        if (team.adminDefaultModel === id) return 'unchanged'
        await saveDefaultModel(tx, admin, { before: team.adminDefaultModel, after: id }, now)
        return null
      }),
  }
}

type SavedModel = {
  readonly kind: 'model.created' | 'model.changed'
  readonly id: string
  readonly settings: AdminModelSettings
}

/** Adds or replaces a model, with the audit row. The caller raises the version of the directory. */
export async function saveModel(
  tx: Transaction,
  admin: TeamActor,
  { kind, id, settings }: SavedModel,
  now: Date,
): Promise<void> {
  const { teamId } = admin
  const columns = { ...settings, aliases: [...settings.aliases], serve: [...settings.serve] }
  await tx.adminModel.upsert({ where: { id }, create: { ...columns, id, teamId, createdAt: now }, update: columns })
  const details = { name: id, aliases: columns.aliases, serve: namesOf(settings), published: settings.published }
  await saveTeamEvent(tx, admin, { kind, subjectId: id, details }, now)
}

/**
 * Deletes a model, with the audit row. The caller raises the version of the directory. Where the directory file sets
 * the default model, an admin may have chosen this model before: that choice is deleted too.
 */
export async function deleteModel(tx: Transaction, admin: TeamActor, id: string, now: Date): Promise<void> {
  await tx.adminModel.delete({ where: { id } })
  await tx.team.updateMany({ where: { id: admin.teamId, adminDefaultModel: id }, data: { adminDefaultModel: null } })
  await saveTeamEvent(tx, admin, { kind: 'model.deleted', subjectId: id, details: { name: id } }, now)
}

/** Sets the default model of a team, with the audit row. The caller raises the version of the directory. */
export async function saveDefaultModel(
  tx: Transaction,
  admin: TeamActor,
  { before, after }: { readonly before: string | null; readonly after: string | null },
  now: Date,
): Promise<void> {
  const { teamId } = admin
  await tx.team.update({ where: { id: teamId }, data: { adminDefaultModel: after } })
  const details = { name: after, previous: before }
  await saveTeamEvent(tx, admin, { kind: 'team.default_model_changed', subjectId: teamId, details }, now)
}

/**
 * A team with its models, its admins' backends, and the names of all models of the file. Throws `not_found` when the
 * directory file has removed the team.
 */
export async function loadTeamModels(db: Transaction, teamId: string) {
  const team = await db.team.findUnique({
    where: { id: teamId },
    include: {
      models: { select: { modelId: true } },
      adminModels: { orderBy: { id: 'asc' } },
      adminBackends: { select: { name: true } },
    },
  })
  if (!team) throw unknownTeam()
  const models = (await db.model.findMany()).map(toModel)
  const ids = new Set(team.models.map(({ modelId }) => modelId))
  const names: NameTable = makeNameTable(models)
  const ownBackends = team.adminBackends.map(({ name }) => name)
  return { team, fileModels: byId(models.filter(({ id }) => ids.has(id))), ownBackends, names }
}

/** What an audit row says of the backends of a model. */
function namesOf({ serve }: AdminModelSettings): string[] {
  return serve.map(({ backend, model, when }) => `${backend}/${model}${when === 'offline' ? ' (offline)' : ''}`)
}
