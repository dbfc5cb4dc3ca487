import { makeDeviceSessionAccessStore } from '../../access/device-session-store.ts'
import type { Database } from '../../database/client.ts'
import type { MembershipStore } from '../../directory/memberships.ts'
import { SESSIONS_CHANNEL } from '../../kernel/agent-session.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Logger } from '../../log.ts'
import { makeBrowserSessionStore } from '../browser-session/store.ts'
import { makeAccessWatch } from './access.ts'
import { openSessionReader } from './reader.ts'
import { makeAgentSessionHandlers } from './routes.ts'
import { makeAgentSessionStore } from './store.ts'
import { makeSessionStreams } from './streams.ts'

type Needs = {
  readonly database: Database
  readonly memberships: Pick<MembershipStore, 'findMembership' | 'findTeamsOf'>
  readonly clock: Clock
  readonly log: Logger
}

/** The sessions of agents: their list, and the streams of their events. */
export function openAgentSessionsFlow({ database, memberships, clock, log }: Needs) {
  const sessions = makeAgentSessionStore(database)
  const reader = openSessionReader({
    ...sessions,
    listen: (onNotice) => database.listen(SESSIONS_CHANNEL, onNotice),
    onFailure: (err) => log.warn({ err }, 'agent_sessions.read_failed'),
  })
  const watch = makeAccessWatch({
    findAlive: {
      device: makeDeviceSessionAccessStore(database).findAliveSessions,
      browser: makeBrowserSessionStore(database).findAlive,
      // No operation of the control plane accepts an API key.
      api_key: () => Promise.resolve(new Set()),
    },
    findTeamsOf: memberships.findTeamsOf,
  })
  const streams = makeSessionStreams({ reader, access: watch, clock })
  return {
    handlers: makeAgentSessionHandlers({ sessions, streams, findMembership: memberships.findMembership, clock }),
    /** Ends all streams, so that their clients connect to another process. */
    endStreams: streams.endAll,
    close(): void {
      streams.endAll()
      reader.close()
      watch.close()
    },
  }
}
