import type { Request, Response } from 'express'
import type { DeviceForm } from '../../../generated/openapi.ts'
import type { FindEmail } from '../../directory/memberships.ts'
import { clearCookies } from '../../http/cookies.ts'
import { sendOutcomePage, sendPage } from '../../http/page.ts'
import { actorOf, callerOf, ipOf } from '../../http/request.ts'
import type { DeviceChanges } from '../devices/changes.ts'
import { signedOutPage } from '../pages/answer-pages.ts'
import { linkSentPage } from '../pages/sign-in-link-pages.ts'
import type { PasskeyChanges } from '../passkeys/changes.ts'
import { required } from '../request-fields.ts'
import { keepNext } from '../sign-in-link/next.ts'
import type { SignInLinks } from '../sign-in-link/request.ts'
import type { SignOut } from '../tokens/sign-out.ts'
import type { CodeDecision, Lookup, UserCodes } from './codes.ts'
import { DEVICE_NOTICES } from './device-notices.ts'
import type { OwnKeyForms, FormOutcome } from './key-forms.ts'
import type { RenderDevicePage } from './render.ts'

/** Does what a form of the device page asks for, and answers with a page that says what was done. */
export type AnswerDeviceForm = (req: Request, res: Response, form: DeviceForm) => Promise<void>

type Needs = {
  readonly codes: UserCodes
  readonly deviceChanges: DeviceChanges
  readonly passkeyChanges: PasskeyChanges
  readonly keyForms: OwnKeyForms
  readonly signInLinks: SignInLinks
  readonly findEmail: FindEmail
  readonly signOut: SignOut
  readonly renderDevicePage: RenderDevicePage
}

/** Makes the function, with a case for each action of the form. */
export function makeAnswerDeviceForm(needs: Needs): AnswerDeviceForm {
  const { codes, deviceChanges, passkeyChanges, keyForms, signInLinks, findEmail, signOut, renderDevicePage } = needs

  /** Does what the form asks for. Null: the answer was sent, because it is not the device page. */
  async function apply(req: Request, res: Response, form: DeviceForm): Promise<FormOutcome | null> {
    const actor = actorOf(req)
    switch (form.action) {
      case 'find':
        return afterFind(await codes.find(actor, required('userCode', form.userCode)), form.userCode)
      case 'approve':
      case 'deny': {
        const wanted = form.action === 'deny' ? 'denied' : 'approved'
        const decided = await codes.decide(actor, required('userCode', form.userCode), wanted)
        return afterDecision(decided, wanted, form.userCode)
      }
      case 'revoke-device': {
        const sessionId = required('sessionId', form.sessionId)
        if ((await signOut.findCurrent(req)).includes(sessionId)) return leave(req, res, 'here')
        const hasEnded = await deviceChanges.signOut(actor, sessionId)
        return { notice: hasEnded ? 'device_signed_out' : 'unknown_device' }
      }
      case 'rename-passkey': {
        const [id, name] = [required('passkeyId', form.passkeyId), required('name', form.name)]
        const renamed = await passkeyChanges.rename(actor, id, name)
        return { notice: typeof renamed === 'string' ? PASSKEY_REFUSALS[renamed] : 'passkey_renamed' }
      }
      case 'delete-passkey': {
        const deleted = await passkeyChanges.remove(actor, required('passkeyId', form.passkeyId))
        return { notice: deleted === 'deleted' ? 'passkey_deleted' : PASSKEY_REFUSALS[deleted] }
      }
      case 'create-key':
        return keyForms.create(req, required('name', form.name), form)
      case 'rotate-key':
        return keyForms.rotate(req, required('keyId', form.keyId), form)
      case 'revoke-key':
        return keyForms.revoke(req, required('keyId', form.keyId))
      case 'sign-out-others':
        await deviceChanges.signOutEverywhere(req, { scope: 'others' })
        return { notice: 'signed_out_others' }
      case 'disown-device':
        return disownDevice(req, required('sessionId', form.sessionId))
      case 'confirm-email':
        return confirmByEmail(req, res, form)
      case 'sign-out':
        return leave(req, res, 'here')
      case 'sign-out-everywhere':
        return leave(req, res, 'everywhere')
    }
  }

  async function disownDevice(req: Request, sessionId: string): Promise<FormOutcome> {
    const ended = await deviceChanges.signOutEverywhere(req, { scope: 'others', unknownDevice: sessionId })
    if (ended === 'not_found') return { notice: 'unknown_device' }
    return { notice: ended === 'reauthenticate' ? ended : 'device_disowned' }
  }

  /** Signs this browser out; afterwards there is no caller to show the device page to. */
  async function leave(req: Request, res: Response, scope: 'here' | 'everywhere'): Promise<null> {
    const everywhere = scope === 'everywhere'
    if (everywhere) await deviceChanges.signOutEverywhere(req, { scope: 'all' })
    else await signOut.here(req)
    clearCookies(res)
    sendPage(res, 200, signedOutPage({ everywhere }))
    return null
  }

  /** Emails a sign-in link. Its consumption begins a fresh session in the browser that opens it. */
  async function confirmByEmail(req: Request, res: Response, { page }: DeviceForm): Promise<null> {
    const { accountId, team } = callerOf(req)
    const email = await findEmail(accountId)
    await signInLinks.send({ email, team }, ipOf(req))
    keepNext(res, { page })
    sendPage(res, 200, linkSentPage({ email, isKnown: true }))
    return null
  }

  return async (req, res, form) => {
    const outcome = await apply(req, res, form)
    if (!outcome) return
    const { waitSeconds, ...content } = outcome
    const status = content.notice ? DEVICE_NOTICES[content.notice].status : 200
    if (waitSeconds) res.set('Retry-After', String(waitSeconds))
    sendOutcomePage(res, status, await renderDevicePage(req, content))
  }
}

function afterFind(found: Lookup, userCode: string | undefined): FormOutcome {
  if (!('login' in found)) return { ...withoutLogin(found), userCode }
  if (found.verdict === 'open') return { found: found.login }
  return { notice: found.verdict === 'approved' ? 'approved' : 'denied_code' }
}

function afterDecision(
  decided: CodeDecision,
  wanted: 'approved' | 'denied',
  userCode: string | undefined,
): FormOutcome {
  if (!('login' in decided)) return { ...withoutLogin(decided), userCode }
  if (decided.verdict === wanted) return { notice: wanted }
  return { notice: wanted === 'approved' ? 'denied_code' : 'approved_code' }
}

function withoutLogin(found: Exclude<Lookup, { login: unknown }>): FormOutcome {
  if (found.verdict === 'too_many') return { notice: 'too_many_codes', waitSeconds: found.waitSeconds }
  if (found.verdict === 'expired') return { notice: 'expired_code' }
  return { notice: 'unknown_code' }
}

const PASSKEY_REFUSALS = {
  not_found: 'unknown_passkey',
  invalid_name: 'invalid_name',
  reauthenticate: 'reauthenticate',
} as const
