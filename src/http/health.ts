import type { Handlers } from './operation.ts'

type Needs = {
  /** Null when no database is configured. */
  readonly database: { ping(): Promise<boolean> } | null
}

/** The handlers of `/healthz` (the process runs) and `/readyz` (it can serve requests). */
export function healthRoutes({ database }: Needs): Handlers<'getHealth' | 'getReadiness'> {
  return {
    async getHealth(_req, res) {
      res.status(200).json({ status: 'ok' })
    },

    async getReadiness(_req, res) {
      if (!database) return res.status(200).json({ status: 'ok', database: 'disabled' })
      if (await database.ping()) return res.status(200).json({ status: 'ok', database: 'ok' })
      res.status(503).json({ status: 'unavailable', database: 'unavailable' })
    },
  }
}
