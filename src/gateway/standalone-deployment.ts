import { makeExplainToken } from '../access/explain-token.ts'
import { makeIdentifyByTokenAlone } from '../access/identify-by-token-alone.ts'
import { openPublishedKeys } from '../access/published-keys.ts'
import { makeVerifyOnce } from '../access/verify-once.ts'
import type { Config } from '../config/values.ts'
import { countDirectory } from '../directory/counts.ts'
import type { DirectoryCounts } from '../directory/counts.ts'
import { toSnapshot, withTeams } from '../directory/snapshot.ts'
import { ApiError } from '../http/errors.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Logger } from '../log.ts'
import type { Deployment, OnDirectory } from './deployment.ts'
import { NO_LEDGER } from './spending/ledger.ts'
import { makeEventLog } from './usage/log-events.ts'

type StandaloneNeeds = {
  /** Issues the access tokens. */
  readonly baseUrl: string
  /** Where the keys that verify them are published, and the file that keeps a copy. */
  readonly verification: Config['verification']
  readonly clock: Clock
  readonly log: Logger
}

/**
 * Without a database: tokens say who calls, the directory file says which teams and models there are, and events go to
 * the log.
 */
export async function openStandaloneDeployment(needs: StandaloneNeeds): Promise<Deployment> {
  const { baseUrl, verification, clock, log } = needs
  const { controlPlaneUrl, keysFile, offlineGraceMs: graceMs } = verification
  const keys = await openPublishedKeys({ controlPlaneUrl, file: keysFile, log })
  const { findPublicKey, isControlPlaneAway } = keys
  const verify = makeVerifyOnce({ issuer: baseUrl, findPublicKey })
  const startedAt = clock.now()
  const watchers: OnDirectory[] = []
  let snapshot = withTeams([])
  let counts: DirectoryCounts = { teams: 0, members: 0, backends: [], models: [] }
  return {
    identify: makeIdentifyByTokenAlone({ verify, graceMs, isControlPlaneAway, clock }),
    identifyKey() {
      throw new ApiError('unauthorized', { message: KEYS_NEED_DATABASE })
    },
    explainToken: makeExplainToken({ verify, clock }),
    // The end of a session is not known here. Its tokens end by themselves.
    watchAccess: () => () => undefined,
    findTeam: (name) => snapshot.teams.get(name) ?? null,
    watchDirectory: (onDirectory) => void watchers.push(onDirectory),
    spending: NO_LEDGER,
    recordEvent: makeEventLog(log),
    async applyDirectory(given) {
      snapshot = toSnapshot(given, startedAt)
      counts = countDirectory(given)
      for (const onDirectory of watchers) onDirectory(snapshot)
      return null
    },
    countDirectory: async () => counts,
    close: keys.close,
  }
}

const KEYS_NEED_DATABASE =
  'This gateway has no database, so it cannot check API keys. Send an access token (svc token), or call a gateway ' +
  'with a database.'
