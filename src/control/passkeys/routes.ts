import { randomUUID } from 'node:crypto'
import type { Request } from 'express'
import type { FinishPasskeyLogin } from '../../../generated/openapi.ts'
import { cookieOf, setCookie } from '../../http/cookies.ts'
import { ApiError } from '../../http/errors.ts'
import type { Handlers } from '../../http/operation.ts'
import { networkKey } from '../../http/rate-limit.ts'
import type { RateLimit } from '../../http/rate-limit.ts'
import { callerOf, ipOf } from '../../http/request.ts'
import { addSeconds } from '../../kernel/clock.ts'
import type { Clock } from '../../kernel/clock.ts'
import { cleanDeviceName } from '../../kernel/device-name.ts'
import { toEmail } from '../../kernel/email.ts'
import { hashSecret, Secret } from '../../kernel/secret.ts'
import { parseTeamName } from '../../kernel/team-name.ts'
import { toUtcText } from '../../kernel/utc-text.ts'
import type { Logger } from '../../log.ts'
import { beginBrowserSession } from '../browser-session/begin.ts'
import { COOKIE_SECONDS } from '../browser-session/rules.ts'
import type { BrowserSessionStore } from '../browser-session/store.ts'
import type { DeviceLoginStore } from '../device-login/store.ts'
import type { Notify } from '../notify.ts'
import { answerTokenSet, wantsCookies } from '../tokens/answer.ts'
import type { IssueTokens } from '../tokens/issue.ts'
import type { OpenSession } from '../tokens/open.ts'
import type { PasskeyChanges } from './changes.ts'
import { CHALLENGE_SECONDS, isCounterRegression, isFresh, maySignIn, mayRegister, MOST_PASSKEYS } from './rules.ts'
import type { ListedPasskey, PasskeyStore, StoredPasskey } from './store.ts'
import { loginOptions, readChallenge, registrationOptions, verifyLogin, verifyRegistration } from './webauthn.ts'
import type { Webauthn } from './webauthn.ts'

type Needs = {
  readonly passkeys: PasskeyStore
  readonly passkeyChanges: PasskeyChanges
  readonly logins: Pick<DeviceLoginStore, 'findInvitation'>
  readonly browserSessions: BrowserSessionStore
  readonly openSession: OpenSession
  readonly issueTokens: IssueTokens
  readonly notify: Notify
  /** Sign-ins that one network starts. */
  readonly passkeyStarts: RateLimit
  readonly webauthn: Webauthn
  readonly lifetimes: { readonly accessTokenSeconds: number; readonly refreshIdleDays: number }
  readonly secure: boolean
  readonly clock: Clock
  readonly log: Logger
}

type Operations =
  | 'startPasskeyRegistration'
  | 'finishPasskeyRegistration'
  | 'startPasskeyLogin'
  | 'finishPasskeyLogin'
  | 'listPasskeys'
  | 'renamePasskey'
  | 'deletePasskey'

const FULL = { message: `An account has at most ${MOST_PASSKEYS} passkeys; delete one first.` }

export function passkeyRoutes(needs: Needs): Handlers<Operations> {
  const { passkeys, passkeyChanges, notify, webauthn, lifetimes, secure, clock, log } = needs

  /** The passkey that signed a challenge, checked in every way. Whatever is wrong is the same refusal. */
  async function proven({ credential, email }: FinishPasskeyLogin, ip: string, now: Date): Promise<StoredPasskey> {
    const refused = new ApiError('unauthorized', { message: 'This passkey does not sign you in.' })
    const challenge = readChallenge(credential.response.clientDataJSON)
    const asked = challenge && (await passkeys.takeChallenge(hashSecret(challenge)))
    const passkey = await passkeys.findByCredential(credential.id)
    if (!challenge || !asked || !passkey) throw refused
    const said = { email: toNamed(email), userHandle: credential.response.userHandle ?? null }
    if (!maySignIn(asked, passkey, said, now)) throw refused

    const used = await verifyLogin(webauthn, credential, challenge, passkey)
    if (!used) throw refused
    if (isCounterRegression(passkey.counter, used.counter)) {
      await passkeys.noteRegression(passkey, used.counter, ip, now)
      log.warn({ passkeyId: passkey.id, accountId: passkey.accountId }, 'passkey.counter_regressed')
      throw refused
    }
    if (!(await passkeys.noteUse(passkey, used, now))) throw refused
    return passkey
  }

  /** The device that signs in: the one it says it is, the one that this browser was before, or a new one. */
  async function deviceIdOf(req: Request<unknown, unknown, FinishPasskeyLogin>, accountId: string): Promise<string> {
    const cookie = wantsCookies(req) ? cookieOf(req, 'svc_session') : undefined
    const before = cookie ? await needs.browserSessions.findLinked(hashSecret(new Secret(cookie))) : null
    const same = before?.invitation.accountId === accountId ? before.deviceSession?.deviceId : undefined
    return req.body.deviceId ?? same ?? `web-${randomUUID()}`
  }

  return {
    async startPasskeyRegistration(req, res) {
      const now = clock.now()
      const { accountId, sessionId, authenticatedAt } = callerOf(req)
      if (!isFresh({ authenticatedAt }, now)) throw new ApiError('reauthenticate')
      const registrant = await passkeys.findRegistrant(accountId)
      if (registrant.passkeys.length >= MOST_PASSKEYS) throw new ApiError('conflict', FULL)
      const { options, challenge } = await registrationOptions(webauthn, registrant)
      const expiresAt = addSeconds(now, CHALLENGE_SECONDS)
      const row = { ceremony: 'registration', accountId, sessionId, email: null, expiresAt } as const
      await passkeys.saveChallenge(hashSecret(challenge), row, now)
      res.set('Cache-Control', 'no-store')
      res.status(200).json(toCreationOptions(options))
    },

    async finishPasskeyRegistration(req, res) {
      const now = clock.now()
      const caller = callerOf(req)
      const { credential, name: given } = req.body
      const name = given === undefined ? `Passkey of ${toUtcText(now).split(',')[0]}` : cleanDeviceName(given)
      if (!name) throw new ApiError('invalid_request', { message: 'name must have visible characters.' })
      const challenge = readChallenge(credential.response.clientDataJSON)
      const asked = challenge && (await passkeys.takeChallenge(hashSecret(challenge)))
      const made =
        asked && mayRegister(asked, caller, now) ? await verifyRegistration(webauthn, credential, challenge) : null
      if (!made) throw new ApiError('unauthorized', { message: 'This passkey was not made for this session.' })

      const added = await passkeys.add(made, { accountId: caller.accountId, name, ip: ipOf(req) }, now)
      if (added === 'taken') throw new ApiError('conflict', { message: 'This passkey is known already.' })
      if (added === 'full') throw new ApiError('conflict', FULL)
      const { email } = await passkeys.findRegistrant(caller.accountId)
      notify.passkeyChanged(email, { change: 'added', passkeyName: name, at: now, ip: ipOf(req) })
      log.info({ passkeyId: added.id, accountId: caller.accountId }, 'passkey.added')
      res.status(200).json(toOwnPasskey(added))
    },

    async startPasskeyLogin(req, res) {
      await needs.passkeyStarts.take(networkKey(ipOf(req)))
      const now = clock.now()
      const email = toNamed(req.body.email)
      const { options, challenge } = await loginOptions(webauthn)
      const expiresAt = addSeconds(now, CHALLENGE_SECONDS)
      const row = { ceremony: 'authentication', accountId: null, sessionId: null, email, expiresAt } as const
      await passkeys.saveChallenge(hashSecret(challenge), row, now)
      res.set('Cache-Control', 'no-store')
      res.status(200).json(toRequestOptions(options))
    },

    async finishPasskeyLogin(req, res) {
      const now = clock.now()
      const ip = ipOf(req)
      const { team, deviceName } = req.body
      const { accountId, email } = await proven(req.body, ip, now)
      const invitation = await needs.logins.findInvitation(email, team ? parseTeamName(team) : null)
      if (!invitation) throw new ApiError('not_invited')

      const deviceId = await deviceIdOf(req as unknown as Request<unknown, unknown, FinishPasskeyLogin>, accountId)
      const browser = wantsCookies(req) ? beginBrowserSession(req, invitation.id, now) : null
      const signIn = {
        loginId: null,
        invitationId: invitation.id,
        accountId,
        deviceId,
        deviceName: cleanDeviceName(deviceName ?? '') ?? (browser ? 'Browser' : deviceId),
        approvedVia: 'passkey',
        ...(browser && { browserSession: browser.session }),
      } as const
      const session = await needs.openSession(signIn, ip, now)
      const tokens = await needs.issueTokens(session, now)
      if (browser) setCookie(res, 'svc_session', browser.cookie, COOKIE_SECONDS, secure)
      log.info({ sessionId: session.id, accountId }, 'passkey.signed_in')
      res.status(200).json(answerTokenSet(req, res, session, tokens, { lifetimes, secure }))
    },

    async listPasskeys(req, res) {
      const listed = await passkeys.list(callerOf(req).accountId)
      res.set('Cache-Control', 'no-store')
      res.status(200).json({ passkeys: listed.map(toOwnPasskey) })
    },

    async renamePasskey(req, res) {
      const renamed = await passkeyChanges.rename(callerOf(req), req.params.passkeyId, req.body.name)
      if (renamed === 'invalid_name')
        throw new ApiError('invalid_request', { message: 'name must have visible characters.' })
      if (renamed === 'not_found') throw new ApiError('not_found', { message: 'You have no passkey of this id.' })
      res.status(200).json(toOwnPasskey(renamed))
    },

    async deletePasskey(req, res) {
      const deleted = await passkeyChanges.remove(callerOf(req), req.params.passkeyId, ipOf(req))
      if (deleted === 'reauthenticate') throw new ApiError('reauthenticate')
      if (deleted === 'not_found') throw new ApiError('not_found', { message: 'You have no passkey of this id.' })
      res.status(200).json({ ok: true })
    },
  }
}

/** The address that somebody named; null when they named none. */
function toNamed(typed: string | undefined): string | null {
  if (typed === undefined) return null
  const email = toEmail(typed)
  if (!email) throw new ApiError('invalid_request', { message: 'email must be one e-mail address.' })
  return email
}

function toOwnPasskey({ id, name, createdAt, lastUsedAt, synced }: ListedPasskey) {
  return { id, name, synced, createdAt: createdAt.toISOString(), lastUsedAt: lastUsedAt?.toISOString() ?? null }
}

type CreationOptions = Awaited<ReturnType<typeof registrationOptions>>['options']

function toCreationOptions({ rp, user, challenge, pubKeyCredParams, excludeCredentials }: CreationOptions) {
  return {
    rp: { id: rp.id ?? '', name: rp.name },
    user: { id: user.id, name: user.name, displayName: user.displayName },
    challenge,
    pubKeyCredParams: pubKeyCredParams.map(({ alg }) => ({ type: 'public-key' as const, alg })),
    timeout: CHALLENGE_SECONDS * 1000,
    excludeCredentials: (excludeCredentials ?? []).map(({ id, transports = [] }) => ({
      type: 'public-key' as const,
      id,
      transports,
    })),
    authenticatorSelection: {
      residentKey: 'required',
      requireResidentKey: true,
      userVerification: 'required',
    } as const,
    attestation: 'none' as const,
    extensions: { credProps: true },
    hints: [],
  }
}

type RequestOptions = Awaited<ReturnType<typeof loginOptions>>['options']

function toRequestOptions({ challenge, rpId }: RequestOptions) {
  return {
    challenge,
    rpId: rpId ?? '',
    timeout: CHALLENGE_SECONDS * 1000,
    userVerification: 'required' as const,
    allowCredentials: [],
  }
}
