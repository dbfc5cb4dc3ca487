import { setTimeout as sleep } from 'node:timers/promises'
import type { Prisma, PrismaClient } from '../../generated/prisma/client.ts'
import type { Role } from '../kernel/caller.ts'
import { withRetry } from '../kernel/database-errors.ts'
import { formatTeamName } from '../kernel/team-name.ts'
import { newUserHandle } from '../kernel/user-handle.ts'
import type { Directory, DirectoryModel } from './rules.ts'
import { byId, toMap } from './snapshot.ts'
import type { DirectorySnapshot } from './snapshot.ts'

export type DirectoryStore = ReturnType<typeof directoryStore>

/** The rows that say who exists and what they may use. */
export function directoryStore(db: PrismaClient) {
  return {
    /**
     * Makes the rows what the directory says, all of them or none, and writes an audit event for every invitation and team
     * that changes. What is the same already is not touched. Several processes may do it at once: they take turns.
     */
    async applyDirectory(directory: Directory, now: Date): Promise<void> {
      await withRetry(() =>
        db.$transaction(
          async (tx) => {
            await takeTurn(tx)
            await applyModels(tx, directory.models, now)
            const teamIds = await applyTeams(tx, directory, now)
            await applyAllowLists(tx, directory, teamIds)
            await applyMembers(tx, directory, teamIds, now)
          },
          { maxWait: 10_000, timeout: 60_000 },
        ),
      )
    },

    /** Every team with the models of its allow-list. */
    async loadSnapshot(): Promise<DirectorySnapshot> {
      const rows = await db.team.findMany({
        include: { organization: true, models: { include: { model: true } } },
      })
      const teams = rows.map(({ name, organization, defaultModel, models }) => {
        return { organization: organization.name, name, defaultModel, models: byId(models.map(({ model }) => model)) }
      })
      return toMap(teams)
    },
  }
}

type Transaction = Prisma.TransactionClient

/** Any number will do, as long as nothing else locks it. */
const DIRECTORY_LOCK = 5_150_331_846_001n
const TURN_WAIT_MS = 50
const TURN_TRIES = 600

/** Asks again and again instead of waiting in the database, where a statement may not take long. */
async function takeTurn(tx: Transaction): Promise<void> {
  for (let tries = 1; tries <= TURN_TRIES; tries++) {
    const [row] = await tx.$queryRaw<{ taken: boolean }[]>`SELECT pg_try_advisory_xact_lock(${DIRECTORY_LOCK}) AS taken`
    if (row?.taken) return
    await sleep(TURN_WAIT_MS)
  }
  throw new Error('another process has been applying its directory file for half a minute')
}

async function applyModels(tx: Transaction, models: readonly DirectoryModel[], now: Date): Promise<void> {
  const kept = new Map((await tx.model.findMany()).map((row) => [row.id, row]))
  await tx.model.deleteMany({ where: { id: { notIn: models.map(({ id }) => id) } } })
  await tx.model.createMany({
    data: models.filter(({ id }) => !kept.has(id)).map((model) => ({ ...model, createdAt: now })),
  })
  for (const model of models) {
    const row = kept.get(model.id)
    if (row && differs(row, model)) await tx.model.update({ where: { id: model.id }, data: model })
  }
}

function differs<Row extends object>(row: Row, wanted: Partial<Row>): boolean {
  return (Object.keys(wanted) as (keyof Row)[]).some((key) => row[key] !== wanted[key])
}

/** Ids by `@organization/name`. */
type TeamIds = ReadonlyMap<string, string>

async function applyTeams(tx: Transaction, { organizations }: Directory, now: Date): Promise<TeamIds> {
  await removeTeams(tx, organizations, now)
  const names = organizations.map(({ name }) => name)
  await tx.organization.deleteMany({ where: { name: { notIn: names } } })
  await tx.organization.createMany({ data: names.map((name) => ({ name })), skipDuplicates: true })

  for (const organization of await tx.organization.findMany({ include: { teams: true } })) {
    const wanted = organizations.find(({ name }) => name === organization.name)?.teams ?? []
    for (const { name, defaultModel } of wanted) {
      const team = organization.teams.find((row) => row.name === name)
      if (!team) {
        const { id } = await tx.team.create({ data: { organizationId: organization.id, name, defaultModel } })
        await tx.auditEvent.create({ data: teamEvent('team.created', id, organization.name, name, now) })
      } else if (team.defaultModel !== defaultModel) {
        await tx.team.update({ where: { id: team.id }, data: { defaultModel } })
      }
    }
  }
  return readTeamIds(tx)
}

async function readTeamIds(tx: Transaction): Promise<TeamIds> {
  const rows = await tx.team.findMany({ include: { organization: true } })
  return new Map(rows.map(({ id, name, organization }) => [formatTeamName({ organization: organization.name, name }), id]))
}

/** The rows of a team go with it, but not before its members have been signed out, each with an audit event. */
async function removeTeams(tx: Transaction, organizations: Directory['organizations'], now: Date): Promise<void> {
  const wanted = new Set(organizations.flatMap(({ name: organization, teams }) => teams.map(({ name }) => formatTeamName({ organization, name }))))
  const gone = [...(await readTeamIds(tx))].filter(([name]) => !wanted.has(name))
  ...
}
