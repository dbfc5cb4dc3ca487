import type { Handlers } from '../http/operation.ts'

type Needs = {
  /** Null when no database is configured. */
  readonly database: { ping(): Promise<boolean> } | null
  /**
   * Whether this process can serve without its database. A gateway can: it knows its callers and the directory. The
   * control plane cannot.
   */
  readonly canServeAlone: boolean
  /** Whether the process is about to stop. */
  readonly isDraining: () => boolean
}

/** The handlers of `/healthz` (the process runs) and `/readyz` (it should get requests). */
export function makeHealthHandlers({
  database,
  canServeAlone,
  isDraining,
}: Needs): Handlers<'getHealth' | 'getReadiness'> {
  async function databaseState() {
    if (!database) return 'disabled'
    return (await database.ping()) ? 'ok' : 'unavailable'
  }
  return {
    async getHealth(_req, res) {
      res.status(200).json({ status: 'ok' })
    },

    async getReadiness(_req, res) {
      const state = await databaseState()
      const isReady = !isDraining() && (state !== 'unavailable' || canServeAlone)
      if (isReady) res.status(200).json({ status: 'ok', database: state })
      else res.status(503).json({ status: 'unavailable', database: state })
    },
  }
}
