import type { Request } from 'express'
import { callerOf, ipOf } from '../../http/request.ts'
import type { Logger } from '../../log.ts'
import type { CurrentSessions, SignOut } from '../tokens/sign-out.ts'
import type { DeviceStore, Kept } from './store.ts'

/** Signs the caller's account out, of everything or of everything but what asks. Says how many devices that were. */
export type SignOutEverywhere = (req: Request, scope: 'all' | 'others', now: Date) => Promise<number>

type Needs = {
  readonly devices: DeviceStore
  readonly signOut: SignOut
  /** Says to this process that a session has ended. */
  readonly onEnd: (sessionId: string) => void
  readonly log: Logger
}

export function signOutEverywhere({ devices, signOut, onEnd, log }: Needs): SignOutEverywhere {
  return async (req, scope, now) => {
    const { accountId, sessionId } = callerOf(req)
    const kept = scope === 'others' ? keep(await signOut.findCurrent(req), sessionId) : NOTHING
    const ended = await devices.revokeAll(accountId, kept, now, ipOf(req))
    ended.forEach(onEnd)
    log.info({ accountId, scope, devices: ended.length }, 'account.signed_out_everywhere')
    return ended.length
  }
}

const NOTHING: Kept = { devices: [], browsers: [] }

/** The caller's own session is one of the two kinds; an id of the other kind names nothing. */
function keep({ devices, browser }: CurrentSessions, callerSessionId: string): Kept {
  return { devices: [...devices, callerSessionId], browsers: [callerSessionId, ...(browser ? [browser] : [])] }
}
