import type { Logger } from '../../log.ts'
import { writeAttempts } from './events.ts'
import type { CallEvent } from './events.ts'

/** Returns a function that logs each call that has ended, for a gateway without a database. */
export function makeEventLog(log: Logger): (event: CallEvent) => void {
  return ({ kind, call, result }) => {
    if (!result) return
    const { caller, ...facts } = call
    // Every caller has a device session, because API keys need a database.
    const { accountId, team, sessionId: deviceSessionId } = caller
    // Without a database there are no spending limits.
    const { usage, attempts: tried, spent: _spent, ...ending } = result
    const attempts = writeAttempts(tried)
    log.info({ ...facts, accountId, team, deviceSessionId, attempts, ...ending, ...usage }, `call.${kind}`)
  }
}
