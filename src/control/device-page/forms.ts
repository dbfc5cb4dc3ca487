import type { Request, Response } from 'express'
import type { DeviceForm } from '../../../generated/openapi.ts'
import { clearCookies } from '../../http/cookies.ts'
import { ApiError } from '../../http/errors.ts'
import { sendPage } from '../../http/page.ts'
import { callerOf, ipOf } from '../../http/request.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { DeviceStore } from '../devices/store.ts'
import type { SignOutEverywhere } from '../devices/sign-out-everywhere.ts'
import { signedOutPage } from '../pages/answer-pages.ts'
import type { DeviceNotice } from '../pages/device-notices.ts'
import type { PasskeyChanges } from '../passkeys/changes.ts'
import type { SignOut } from '../tokens/sign-out.ts'
import type { DecideByCode, Decided, Lookup } from './decide.ts'
import type { DrawDevicePage, Shown } from './page.ts'

/** Does what a form of the device page asks for, and answers with a page that says so. */
export type SendDeviceForm = (req: Request, res: Response, form: DeviceForm) => Promise<void>

type Needs = {
  readonly codes: DecideByCode
  readonly devices: DeviceStore
  readonly passkeyChanges: PasskeyChanges
  readonly signOut: SignOut
  readonly signOutEverywhere: SignOutEverywhere
  readonly drawDevicePage: DrawDevicePage
  readonly secure: boolean
  /** Says to this process that a session has ended. */
  readonly onEnd: (sessionId: string) => void
  readonly clock: Clock
}

/** A page and the status that it is sent with. */
type Outcome = Shown & { readonly status: number; readonly waitSeconds?: number }

export function deviceForms(needs: Needs): SendDeviceForm {
  const { codes, devices, passkeyChanges, signOut, signOutEverywhere, drawDevicePage, secure, onEnd, clock } = needs

  async function outcomeOf(req: Request, form: DeviceForm): Promise<Outcome> {
    const caller = callerOf(req)
    switch (form.action) {
      case 'find':
        return afterFind(await codes.find(caller, given(form.userCode, 'userCode'), ipOf(req)), form.userCode)
      case 'approve':
      case 'deny': {
        const wanted = form.action === 'deny' ? 'denied' : 'approved'
        const decided = await codes.decide(caller, given(form.userCode, 'userCode'), wanted, ipOf(req))
        return afterDecision(decided, wanted, form.userCode)
      }
      case 'revoke-device':
        return revokeDevice(req, given(form.sessionId, 'sessionId'))
      case 'rename-passkey': {
        const named = await passkeyChanges.rename(caller, given(form.passkeyId, 'passkeyId'), given(form.name, 'name'))
        return typeof named === 'string' ? REFUSED[named] : { status: 200, notice: 'passkey_renamed' }
      }
      case 'delete-passkey': {
        const deleted = await passkeyChanges.remove(caller, given(form.passkeyId, 'passkeyId'), ipOf(req))
        return deleted === 'deleted' ? { status: 200, notice: 'passkey_deleted' } : REFUSED[deleted]
      }
      case 'sign-out-others':
        await signOutEverywhere(req, 'others', clock.now())
        return { status: 200, notice: 'signed_out_others' }
      default:
        throw new Error(`The form ${form.action} has no outcome on this page.`)
    }
  }

  async function revokeDevice(req: Request, sessionId: string): Promise<Outcome> {
    const revoked = await devices.revoke(sessionId, callerOf(req).accountId, clock.now(), ipOf(req))
    if (!revoked) return { status: 404, notice: 'unknown_device' }
    onEnd(sessionId)
    return { status: 200, notice: 'device_signed_out' }
  }

  /** After these nobody is signed in whom the page could be for. */
  async function leave(req: Request, res: Response, everywhere: boolean): Promise<void> {
    if (everywhere) await signOutEverywhere(req, 'all', clock.now())
    else await signOut.here(req, clock.now())
    clearCookies(res, secure)
    sendPage(res, 200, signedOutPage({ everywhere }))
  }

  return async (req, res, form) => {
    if (form.action === 'sign-out' || form.action === 'sign-out-everywhere')
      return leave(req, res, form.action === 'sign-out-everywhere')
    const { status, waitSeconds, ...shown } = await outcomeOf(req, form)
    if (waitSeconds) res.set('Retry-After', String(waitSeconds))
    sendPage(res, status, await drawDevicePage(req, shown), { scripts: true })
  }
}

/** Each action has fields that it cannot do without. */
function given(value: string | undefined, name: string): string {
  if (value === undefined) throw new ApiError('invalid_request', { message: `${name} is missing.` })
  return value
}

function afterFind(found: Lookup, userCode: string | undefined): Outcome {
  if (!('login' in found)) return { ...withoutLogin(found), userCode }
  if (found.verdict === 'open') return { status: 200, found: found.login }
  return found.verdict === 'approved' ? { status: 200, notice: 'approved' } : { status: 409, notice: 'denied_code' }
}

function afterDecision(decided: Decided, wanted: 'approved' | 'denied', userCode: string | undefined): Outcome {
  if (!('login' in decided)) return { ...withoutLogin(decided), userCode }
  if (decided.status === wanted) return { status: 200, notice: wanted }
  return { status: 409, notice: wanted === 'approved' ? 'denied_code' : 'approved_code' }
}

function withoutLogin(found: Exclude<Lookup, { login: unknown }>): Outcome {
  if (found.verdict === 'too_many') return { status: 429, notice: 'too_many_codes', waitSeconds: found.waitSeconds }
  if (found.verdict === 'expired') return { status: 410, notice: 'expired_code' }
  return { status: 404, notice: 'unknown_code' }
}

const REFUSED = {
  not_found: { status: 404, notice: 'unknown_passkey' },
  invalid_name: { status: 400, notice: 'invalid_name' },
  reauthenticate: { status: 403, notice: 'reauthenticate' },
} as const satisfies Record<string, { status: number; notice: DeviceNotice }>
