import type { Logger } from '../../log.ts'
import type { CallEvent } from './events.ts'

/** Returns a function that logs each call that has ended, for a gateway without a database. */
export function makeEventLog(log: Logger): (event: CallEvent) => void {
  return ({ kind, call, result }) => {
    if (!result) return
    const { caller, dialect: style, ...facts } = call
    // Every caller has a device session, because API keys need a database.
    const { accountId, team, sessionId: deviceSessionId } = caller
    const { usage, ...ending } = result
    log.info({ ...facts, style, accountId, team, deviceSessionId, ...ending, ...usage }, `call.${kind}`)
  }
}
