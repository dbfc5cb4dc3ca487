import { setCookie } from '../../http/cookies.ts'
import { ApiError } from '../../http/errors.ts'
import type { Handlers } from '../../http/operation.ts'
import { networkKey } from '../../http/rate-limit.ts'
import type { RateLimit } from '../../http/rate-limit.ts'
import { actorOf, callerOf, ipOf } from '../../http/request.ts'
import { COOKIE_SECONDS } from '../browser-session/rules.ts'
import { invalidName } from '../request-fields.ts'
import { toTokenSet, wantsCookies } from '../tokens/answer.ts'
import type { AnswerTokens } from '../tokens/answer.ts'
import type { PasskeyChanges } from './changes.ts'
import type { PasskeyLogin } from './login.ts'
import type { PasskeyRegistration } from './registration.ts'
import type { ListedPasskey, PasskeyStore } from './store.ts'
import { readEmail } from './verify.ts'

type Needs = {
  readonly passkeys: PasskeyStore
  readonly registration: PasskeyRegistration
  readonly login: PasskeyLogin
  readonly changes: PasskeyChanges
  readonly answerTokens: AnswerTokens
  /** Sign-ins that one network starts. */
  readonly starts: RateLimit
}

type Operations =
  | 'startPasskeyRegistration'
  | 'finishPasskeyRegistration'
  | 'startPasskeyLogin'
  | 'finishPasskeyLogin'
  | 'listPasskeys'
  | 'renamePasskey'
  | 'deletePasskey'

/** The operations that register, use, rename and delete passkeys. */
export function makePasskeyHandlers(needs: Needs): Handlers<Operations> {
  const { passkeys, registration, login, changes, answerTokens, starts } = needs
  return {
    async startPasskeyRegistration(req, res) {
      const options = await registration.start(actorOf(req))
      res.status(200).json(options)
    },

    async finishPasskeyRegistration(req, res) {
      res.status(200).json(toAnswer(await registration.finish(actorOf(req), req.body)))
    },

    async startPasskeyLogin(req, res) {
      await starts.take(networkKey(ipOf(req)))
      const options = await login.start(readEmail(req.body.email))
      res.status(200).json(options)
    },

    async finishPasskeyLogin(req, res) {
      const { session, cookie } = await login.finish(req, req.body, wantsCookies(req))
      if (cookie) setCookie(res, 'svc_session', cookie, COOKIE_SECONDS)
      res.status(200).json(toTokenSet(session, await answerTokens(req, res, session)))
    },

    async listPasskeys(req, res) {
      const listed = await passkeys.list(callerOf(req).accountId)
      res.status(200).json({ passkeys: listed.map(toAnswer) })
    },

    async renamePasskey(req, res) {
      const renamed = await changes.rename(actorOf(req), req.params.passkeyId, req.body.name)
      if (renamed === 'invalid_name') throw invalidName()
      if (renamed === 'not_found') throw new ApiError('not_found', UNKNOWN_PASSKEY)
      res.status(200).json(toAnswer(renamed))
    },

    async deletePasskey(req, res) {
      const deleted = await changes.remove(actorOf(req), req.params.passkeyId)
      if (deleted === 'reauthenticate') throw new ApiError('reauthenticate')
      if (deleted === 'not_found') throw new ApiError('not_found', UNKNOWN_PASSKEY)
      res.status(200).json({ ok: true })
    },
  }
}

const UNKNOWN_PASSKEY = { message: 'Your account has no passkey with this id.' }

function toAnswer({ id, name, createdAt, lastUsedAt, synced }: ListedPasskey) {
  return { id, name, synced, createdAt: createdAt.toISOString(), lastUsedAt: lastUsedAt?.toISOString() ?? null }
}
