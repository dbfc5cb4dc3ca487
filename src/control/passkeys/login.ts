import { randomUUID } from 'node:crypto'
import type { FinishPasskeyLogin, PasskeyRequestOptions } from '../../../generated/openapi.ts'
import type { FindInvitation } from '../../directory/memberships.ts'
import { cookieOf } from '../../http/cookies.ts'
import { ApiError } from '../../http/errors.ts'
import type { RequestHead } from '../../http/request.ts'
import { ipOf, userAgentOf } from '../../http/request.ts'
import type { Clock } from '../../kernel/clock.ts'
import { hashSecret, Secret } from '../../kernel/secret.ts'
import { parseTeamName } from '../../kernel/team-name.ts'
import type { Logger } from '../../log.ts'
import { beginBrowserSession } from '../browser-session/begin.ts'
import type { BrowserSessionStore } from '../browser-session/store.ts'
import { chooseDeviceName, readUserAgentName } from '../devices/device-name.ts'
import type { OpenSession } from '../tokens/open.ts'
import type { DeviceSession } from '../tokens/rows.ts'
import type { Challenges } from './challenges.ts'
import type { VerifyPasskey } from './verify.ts'
import { makeLoginOptions } from './webauthn.ts'

/**
 * A device session that a passkey opened. `cookie` begins a browser session beside it; null when the client does not
 * use cookies.
 */
export type PasskeySignIn = { readonly session: DeviceSession; readonly cookie: Secret | null }

/** Signs an account in with a passkey. */
export type PasskeyLogin = {
  /** Options for the browser, the same for every address, known or not. */
  start(email: string | null): Promise<PasskeyRequestOptions>
  /**
   * Throws `unauthorized` when the passkey is not known, was just removed or its signature is not valid, and
   * `not_invited`.
   */
  finish(req: RequestHead, body: FinishPasskeyLogin, usesCookies: boolean): Promise<PasskeySignIn>
}

type Needs = {
  readonly challenges: Challenges
  readonly browserSessions: BrowserSessionStore
  readonly verifyPasskey: VerifyPasskey
  readonly findInvitation: FindInvitation
  readonly openSession: OpenSession
  readonly rpId: string
  readonly clock: Clock
  readonly log: Logger
}

/** Makes both halves of the authentication ceremony. */
export function makePasskeyLogin(needs: Needs): PasskeyLogin {
  const { challenges, browserSessions, verifyPasskey, findInvitation, openSession, rpId, clock, log } = needs

  /**
   * The device id of the session that this browser's cookie belongs to, so that a second sign-in replaces the first
   * one.
   */
  async function findKnownDeviceId(req: RequestHead, accountId: string): Promise<string | undefined> {
    const cookie = cookieOf(req, 'svc_session')
    const known = cookie ? await browserSessions.findLinked(hashSecret(new Secret(cookie))) : null
    return known?.invitation.accountId === accountId ? known.deviceSession?.deviceId : undefined
  }

  return {
    async start(email) {
      const { options, challenge } = await makeLoginOptions(rpId)
      await challenges.save(challenge, { ceremony: 'authentication', accountId: null, sessionId: null, email })
      return options
    },

    async finish(req, body, usesCookies) {
      const now = clock.now()
      const ip = ipOf(req)
      const { id: passkeyId, accountId, email } = await verifyPasskey(body, ip)
      const invitation = await findInvitation(email, body.team ? parseTeamName(body.team) : null)
      if (!invitation) throw new ApiError('not_invited')

      const known = usesCookies ? await findKnownDeviceId(req, accountId) : undefined
      const deviceId = body.deviceId ?? known ?? `web-${randomUUID()}`
      const begun = usesCookies ? beginBrowserSession(req, invitation.id, now) : null
      const signIn = {
        loginId: null,
        passkeyId,
        invitationId: invitation.id,
        deviceId,
        deviceName: chooseDeviceName([body.deviceName, body.deviceId, readUserAgentName(userAgentOf(req))]),
        clientId: null,
        approvedVia: 'passkey',
        isBrowser: usesCookies,
        ...(begun && { browser: begun.browser }),
      } as const
      const session = await openSession(signIn, ip, now)
      log.info({ sessionId: session.id, accountId }, 'passkey.signed_in')
      return { session, cookie: begun?.cookie ?? null }
    },
  }
}
