import type { PrismaClient } from '../../../generated/prisma/client.ts'

/** How fast a model answered lately. */
export type ModelSpeed = {
  readonly model: string
  readonly calls: number
  /** The time until the first byte, and of the whole answer, in milliseconds: half of the calls were faster. */
  readonly firstByteMs: number
  readonly durationMs: number
  /** The time of the whole answer that 95 of 100 calls kept, in milliseconds. */
  readonly slowDurationMs: number
}

/** A model that a team may call. */
export type TeamModelRow = {
  readonly id: string
  readonly displayName: string
  readonly owner: string
  readonly aliases: readonly string[]
  readonly contextWindow: number | null
  /** The backends that serve it, in order. Empty: the backend of the route group. */
  readonly backends: readonly string[]
  /** Models that are not published are in no list of models. */
  readonly published: boolean
}

/** The speed of models is read from this many of the latest events of all teams, so that the query stays short. */
const MAX_EVENTS = 20_000

/** More models than this are left out. */
const MAX_SPEEDS = 5
const MAX_MODELS = 500

export type ConsoleStore = ReturnType<typeof makeConsoleStore>

/** What the pages of a team show besides the lists of other flows. */
export function makeConsoleStore(db: PrismaClient) {
  return {
    /** The models of a team that answered slowest lately, the slowest first. `accountId`: by calls of this account. */
    async findSlowestModels(team: string, accountId: string | null): Promise<ModelSpeed[]> {
      return db.$queryRaw<ModelSpeed[]>`
        SELECT model, count(*)::int AS calls,
          percentile_cont(0.5) WITHIN GROUP (ORDER BY first_byte_ms)::float8 AS "firstByteMs",
          percentile_cont(0.5) WITHIN GROUP (ORDER BY duration_ms)::float8 AS "durationMs",
          percentile_cont(0.95) WITHIN GROUP (ORDER BY duration_ms)::float8 AS "slowDurationMs"
        FROM (SELECT * FROM call_events ORDER BY id DESC LIMIT ${MAX_EVENTS}::int) AS latest
        WHERE team = ${team} AND kind = 'finished' AND (${accountId}::uuid IS NULL OR account_id = ${accountId}::uuid)
          AND first_byte_ms IS NOT NULL AND duration_ms IS NOT NULL
        GROUP BY model ORDER BY "durationMs" DESC, model LIMIT ${MAX_SPEEDS}::int`
    },

    /** The models that a team may call, by name. */
    async findModels(teamId: string): Promise<TeamModelRow[]> {
      const rows = await db.teamModel.findMany({
        where: { teamId },
        orderBy: { modelId: 'asc' },
        take: MAX_MODELS,
        include: { model: true },
      })
      return rows.map(({ model }) => ({
        id: model.id,
        displayName: model.displayName,
        owner: model.owner,
        aliases: model.aliases,
        contextWindow: model.contextWindow,
        backends: backendsIn(model.serve),
        published: model.published,
      }))
    },
  }
}

/** The names of the backends in a column that was read from a directory file. */
function backendsIn(serve: unknown): string[] {
  const entries = (Array.isArray(serve) ? serve.flat() : []) as readonly { readonly backend: string }[]
  return [...new Set(entries.map(({ backend }) => backend))]
}
