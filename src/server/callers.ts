import type { FindPublicKey } from '../access/access-token.ts'
import { openLiveCallers } from '../access/live-callers.ts'
import type { LiveCallers } from '../access/live-callers.ts'
import type { Config } from '../config/values.ts'
import type { Database } from '../database/client.ts'
import type { AnswerOrLastKnown } from '../database/last-known.ts'
import { makeUnknownCount } from '../http/unknown-credentials.ts'
import type { Clock } from '../kernel/clock.ts'

type Needs = {
  readonly database: Database
  readonly findPublicKey: FindPublicKey
  readonly answerOrLastKnown: AnswerOrLastKnown
  readonly clock: Clock
}

/** The callers of the gateway, as the settings identify and limit them. */
export function openCallers({ baseUrl, limits }: Config, { database, ...needs }: Needs): LiveCallers {
  return openLiveCallers({
    ...needs,
    database,
    issuer: baseUrl,
    unknownKeys: makeUnknownCount({ perMinute: limits.startsPerIp }),
  })
}
