import type { Database } from '../../database/client.ts'

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

/** The speed of models is read from this many of the latest events of all teams, so that the query stays short. */
const MAX_EVENTS = 20_000

/** More models than this are left out. */
const MAX_SPEEDS = 5

export type ConsoleStore = ReturnType<typeof makeConsoleStore>

/** What the pages of a team show that no other flow finds. */
export function makeConsoleStore({ prisma: db }: Pick<Database, 'prisma'>) {
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

    /** The addresses of the members of a team, in their order. */
    async findAddresses(teamId: string, limit: number): Promise<string[]> {
      const rows = await db.invitation.findMany({
        where: { teamId, revokedAt: null },
        select: { account: { select: { email: true } } },
        orderBy: { account: { email: 'asc' } },
        take: limit,
      })
      return rows.map(({ account }) => account.email)
    },
  }
}
