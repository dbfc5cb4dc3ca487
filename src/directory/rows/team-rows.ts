/** The rows of organizations, teams, and the models that each team may use. */
import { setImmediate } from 'node:timers/promises'
import type { Transaction } from '../../database/client.ts'
import { newRowId, NIL_UUID } from '../../kernel/identifier.ts'
import { formatTeamName } from '../../kernel/team-name.ts'
import type { Directory } from '../rules.ts'
import { batchesOf, compareRows } from './compare.ts'
import type { RowChanges } from './compare.ts'
import { withoutReferenceChecks } from './unchecked-references.ts'

export type TeamRow = {
  readonly id: string
  readonly organization: string
  readonly name: string
  readonly defaultModel: string | null
  readonly timeZone: string
  /** Chosen by an admin. It counts where the directory file sets none. */
  readonly adminDefaultModel: string | null
  /** The ids of the models that the team may use. */
  readonly models: readonly string[]
}

type WantedTeam = Omit<TeamRow, 'id' | 'adminDefaultModel'>

export type TeamChanges = {
  readonly organizations: RowChanges<string, string>
  readonly teams: RowChanges<TeamRow, WantedTeam>
  /** The teams that stay, by id. */
  readonly names: ReadonlyMap<string, string>
}

/** Short enough not to delay other statements of an embedded database, whose teams may have hundreds of models. */
const TEAMS_A_PAGE = 100

/** Reads all teams, page by page: other work of this process runs between two pages. */
export async function readTeams(db: Transaction): Promise<TeamRow[]> {
  const teams: TeamRow[] = []
  for (;;) {
    const page = await db.$queryRaw<TeamRow[]>`
      SELECT t.id::text, o.name AS organization, t.name, t.default_model AS "defaultModel",
        t.admin_default_model AS "adminDefaultModel", t.time_zone AS "timeZone",
        ARRAY(SELECT model_id FROM team_models WHERE team_id = t.id) AS models
      FROM teams t JOIN organizations o ON o.id = t.organization_id
      WHERE t.id > ${teams.at(-1)?.id ?? NIL_UUID}::uuid ORDER BY t.id LIMIT ${TEAMS_A_PAGE}::int`
    teams.push(...page)
    if (page.length < TEAMS_A_PAGE) return teams
    await setImmediate()
  }
}

/** Compares the rows of organizations and teams with the directory's. */
export async function findTeamChanges(db: Transaction, { organizations }: Directory): Promise<TeamChanges> {
  const rows = await readTeams(db)
  const names = (await db.organization.findMany({ select: { name: true } })).map(({ name }) => name)
  const wanted = organizations.flatMap(({ name: organization, teams }) =>
    teams.map((team) => ({ organization, ...team })),
  )
  const teams = compareRows(byName(rows), byName(wanted), differs)
  const removed = new Set(teams.removed.map(({ id }) => id))
  return {
    organizations: compareRows(byItself(names), byItself(organizations.map(({ name }) => name)), () => false),
    teams,
    names: new Map(rows.filter(({ id }) => !removed.has(id)).map((row) => [row.id, formatTeamName(row)])),
  }
}

function byName<Team extends { readonly organization: string; readonly name: string }>(teams: readonly Team[]) {
  return new Map(teams.map((team) => [formatTeamName(team), team]))
}

function byItself(names: readonly string[]) {
  return new Map(names.map((name) => [name, name]))
}

function differs(row: TeamRow, wanted: WantedTeam): boolean {
  if (row.defaultModel !== wanted.defaultModel || row.timeZone !== wanted.timeZone) return true
  if (row.models.length !== wanted.models.length) return true
  const models = new Set(row.models)
  return !wanted.models.every((model) => models.has(model))
}

/** Removes teams with their rows. Their members have been withdrawn before, so that the audit log records it. */
export async function removeTeams(tx: Transaction, { teams }: TeamChanges, now: Date): Promise<void> {
  for (const batch of batchesOf(teams.removed)) {
    await tx.team.deleteMany({ where: { id: { in: batch.map(({ id }) => id) } } })
    await tx.auditEvent.createMany({ data: batch.map((row) => teamEvent('team.removed', row, now)) })
  }
}

/** Adds and changes organizations and teams. Resolves with the ids of all teams by `@organization/name`. */
export async function saveTeamChanges(tx: Transaction, changes: TeamChanges, now: Date): Promise<Map<string, string>> {
  const { organizations, teams, names } = changes
  for (const batch of batchesOf(organizations.removed))
    await tx.organization.deleteMany({ where: { name: { in: batch } } })
  for (const batch of batchesOf(organizations.added))
    await tx.organization.createMany({ data: batch.map((name) => ({ name })), skipDuplicates: true })
  for (const { row, wanted } of teams.changed) await changeTeam(tx, row, wanted, now)
  const added = teams.added.length > 0 ? await addTeams(tx, teams.added, now) : []
  return new Map([...[...names].map(([id, name]) => [name, id] as const), ...added])
}

async function changeTeam(tx: Transaction, team: TeamRow, wanted: WantedTeam, now: Date): Promise<void> {
  const { id, models, ...row } = team
  const { defaultModel, timeZone } = wanted
  if (row.defaultModel !== defaultModel || row.timeZone !== timeZone)
    await tx.team.update({ where: { id }, data: { defaultModel, timeZone } })
  const gone = models.filter((model) => !wanted.models.includes(model))
  await tx.teamModel.deleteMany({ where: { teamId: id, modelId: { in: gone } } })
  const added = wanted.models.filter((model) => !models.includes(model))
  await allowModels(
    tx,
    added.map((modelId) => ({ teamId: id, modelId })),
  )
  const event = teamEvent('team.changed', team, now)
  const details = { ...event.details, defaultModel, timeZone, modelsAdded: added, modelsRemoved: gone }
  await tx.auditEvent.create({ data: { ...event, details } })
}

async function addTeams(tx: Transaction, added: readonly WantedTeam[], now: Date): Promise<[string, string][]> {
  const organizations = new Map((await tx.organization.findMany()).map(({ id, name }) => [name, id]))
  const teams = added.map((team) => ({ ...team, id: newRowId(now) }))
  for (const batch of batchesOf(teams)) {
    await tx.team.createMany({
      data: batch.map(({ id, organization, name, defaultModel, timeZone }) => {
        return { id, organizationId: organizations.get(organization) ?? '', name, defaultModel, timeZone }
      }),
    })
    await tx.auditEvent.createMany({ data: batch.map((team) => teamEvent('team.created', team, now)) })
  }
  const allowed = teams.flatMap(({ id: teamId, models }) => models.map((modelId) => ({ teamId, modelId })))
  await withoutReferenceChecks(tx, allowed.length, () => allowModels(tx, allowed))
  return teams.map((team) => [formatTeamName(team), team.id])
}

/** Each statement takes columns as arrays: with a parameter for each value, 100,000 rows take five seconds longer. */
async function allowModels(tx: Transaction, allowed: readonly { teamId: string; modelId: string }[]): Promise<void> {
  for (const batch of batchesOf(allowed)) {
    const teamIds = batch.map(({ teamId }) => teamId)
    const modelIds = batch.map(({ modelId }) => modelId)
    await tx.$executeRaw`
      INSERT INTO team_models (team_id, model_id)
      SELECT unnest(${teamIds}::uuid[]), unnest(${modelIds}::text[])`
    // Other work of this process runs between two batches.
    await setImmediate()
  }
}

function teamEvent(kind: string, team: Pick<TeamRow, 'id' | 'organization' | 'name'>, now: Date) {
  return { kind, at: now, teamId: team.id, subjectId: team.id, details: { team: formatTeamName(team) } }
}
