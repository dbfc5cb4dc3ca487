import type { Database } from '../database/client.ts'
import type { AnswerOrLastKnown } from '../database/last-known.ts'
import type { ExplainToken, Identify, IdentifyKey } from '../kernel/caller.ts'
import type { Clock } from '../kernel/clock.ts'
import type { FindPublicKey } from './access-token.ts'
import { makeApiKeyAccessStore } from './api-key-store.ts'
import { makeDeviceSessionAccessStore } from './device-session-store.ts'
import { makeExplainToken } from './explain-token.ts'
import { makeIdentifyKey } from './identify-key.ts'
import type { UnknownKeys } from './identify-key.ts'
import { makeIdentifyToken } from './identify-token.ts'
import { openLiveStates } from './live-states.ts'
import type { LiveStates } from './live-states.ts'
import { makeVerifyOnce } from './verify-once.ts'

/** Identifies the callers of a gateway with a database, by access tokens and by API keys. */
export type LiveCallers = Pick<LiveStates, 'end' | 'watch'> & {
  readonly identify: Identify
  readonly identifyKey: IdentifyKey
  readonly explainToken: ExplainToken
  close(): void
}

type Needs = {
  readonly database: Database
  readonly issuer: string
  readonly findPublicKey: FindPublicKey
  readonly unknownKeys: UnknownKeys
  readonly answerOrLastKnown: AnswerOrLastKnown
  readonly clock: Clock
}

/** Opens the identification of callers by the database. Close it with `close`. */
export function openLiveCallers(needs: Needs): LiveCallers {
  const { database, issuer, findPublicKey, unknownKeys, answerOrLastKnown, clock } = needs
  const { findDeviceCaller, findAliveSessions } = makeDeviceSessionAccessStore(database)
  const { findKey, findAliveKeys } = makeApiKeyAccessStore(database)
  const states = openLiveStates({
    answerOrLastKnown,
    async findAlive(ids) {
      const [sessions, keys] = await Promise.all([findAliveSessions(ids), findAliveKeys(ids, clock.now())])
      return new Set([...sessions, ...keys])
    },
  })
  const verify = makeVerifyOnce({ issuer, findPublicKey })
  return {
    identify: makeIdentifyToken({ verify, findDeviceCaller, states, clock }),
    identifyKey: makeIdentifyKey({ findKey, states, unknownKeys, clock }),
    explainToken: makeExplainToken({ verify, clock }),
    // Requests may name an id in capital letters, and states are kept by the ids of the database.
    end: (id) => states.end(id.toLowerCase()),
    watch: states.watch,
    close: states.close,
  }
}
