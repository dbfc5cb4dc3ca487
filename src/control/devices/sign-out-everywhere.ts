import type { Request } from 'express'
import { callerOf, ipOf } from '../../http/request.ts'
import type { Logger } from '../../log.ts'
import type { CurrentSessions, SignOut } from '../tokens/sign-out.ts'
import type { DeviceStore, Kept } from './store.ts'

/**
 * Signs the caller's account out everywhere, or everywhere but in the calling client. Returns how many devices were
 * signed out.
 */
export type SignOutEverywhere = (req: Request, scope: 'all' | 'others', now: Date) => Promise<number>

type Needs = {
  readonly devices: DeviceStore
  readonly signOut: SignOut
  readonly onSessionEnd: (sessionId: string) => void
  readonly log: Logger
}

export function makeSignOutEverywhere({ devices, signOut, onSessionEnd, log }: Needs): SignOutEverywhere {
  return async (req, scope, now) => {
    const { accountId, sessionId } = callerOf(req)
    const kept = scope === 'others' ? toKept(await signOut.findCurrent(req), sessionId) : NOTHING
    const ended = await devices.revokeAll(accountId, kept, now, ipOf(req))
    ended.forEach(onSessionEnd)
    log.info({ accountId, scope, devices: ended.length }, 'account.signed_out_everywhere')
    return ended.length
  }
}

const NOTHING: Kept = { devices: [], browsers: [] }

/** The caller's session is a device session or a browser session; its id in the other list matches nothing. */
function toKept({ devices, browser }: CurrentSessions, callerSessionId: string): Kept {
  return { devices: [...devices, callerSessionId], browsers: [callerSessionId, ...(browser ? [browser] : [])] }
}
