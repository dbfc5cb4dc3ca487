import { ApiError } from '../../http/errors.ts'
import { networkKey } from '../../http/rate-limit.ts'
import type { RateLimit } from '../../http/rate-limit.ts'
import { addSeconds } from '../../kernel/clock.ts'
import type { Clock } from '../../kernel/clock.ts'
import { toEmail } from '../../kernel/email.ts'
import { hashSecret, newSecret, Secret } from '../../kernel/secret.ts'
import { parseTeamName } from '../../kernel/team-name.ts'
import { newUserCode, showUserCode } from '../../kernel/user-code.ts'
import type { Logger } from '../../log.ts'
import { MailError } from '../../mail.ts'
import type { Mailer } from '../../mail.ts'
import { approveLoginMail } from '../mails/approve-login.ts'
import type { DeviceLoginStore, Invitation } from './store.ts'

/** A device that wants to sign in. */
export type Wanted = {
  /** Null: nobody is named; the login becomes the account's that approves its user code. */
  readonly email: string | null
  /** `@organization/name`; undefined takes the oldest invitation. */
  readonly team: string | undefined
  readonly deviceId: string
  readonly deviceName: string
  readonly startIp: string
  readonly startUserAgent: string
}

/** A login that is kept, with the secrets that only its answer and its mail carry. */
export type StartedLogin = {
  readonly id: string
  /** `XXXX-XXXX` */
  readonly userCode: string
  readonly deviceCode: Secret
  /** The page of the login, for the device that waits. */
  readonly verificationUri: string
  readonly expiresAt: Date
}

/** Begins a login and mails its link. Throws the refusal: `invalid_request`, `not_invited`, `rate_limited`, `email_unavailable`. */
export type StartLogin = (wanted: Wanted) => Promise<StartedLogin>

/** What a stranger can make this service do, bounded. */
export type StartLimits = {
  /** Logins that one network starts. */
  readonly starts: RateLimit
  /** Addresses that are not invited, by one network: who asks for many is looking for some that are. */
  readonly notInvited: RateLimit
  /** Mails to one address. */
  readonly mails: RateLimit
}

type Needs = {
  readonly logins: DeviceLoginStore
  /** Null: mail is not configured. */
  readonly mailer: Mailer | null
  readonly settings: { readonly loginSeconds: number; readonly devLinks: boolean }
  readonly approvalMode: 'click' | 'code'
  readonly limits: StartLimits
  readonly baseUrl: string
  readonly clock: Clock
  readonly log: Logger
}

type Kept = {
  readonly id: string
  readonly userCode: string
  readonly deviceCode: Secret
  readonly mailToken: Secret
  readonly handleToken: Secret | null
  readonly expiresAt: Date
}

/** How often a user code may meet a live twin before something is wrong. */
const USER_CODE_TRIES = 3

export function loginStarter(needs: Needs): StartLogin {
  const { logins, mailer, settings, approvalMode, limits, clock, log } = needs

  /** The invitation of the address, and mail to send it by; throws when either is missing. */
  async function admit(typed: string, { team, startIp }: Wanted): Promise<Invitation> {
    const email = toEmail(typed)
    if (!email) throw new ApiError('invalid_request', { message: 'email must be one e-mail address.' })
    const network = networkKey(startIp)
    const wait = await limits.notInvited.waitSeconds(network)
    if (wait > 0) throw new ApiError('rate_limited', { retryAfterSeconds: wait })
    const invitation = await logins.findInvitation(email, team ? parseTeamName(team) : null)
    if (!invitation) {
      await limits.notInvited.note(network)
      throw new ApiError('not_invited')
    }
    if (!mailer) throw new ApiError('email_unavailable')
    await limits.mails.take(invitation.email)
    return invitation
  }

  async function keep(invitation: Invitation | null, { deviceId, deviceName, startIp, startUserAgent }: Wanted) {
    const createdAt = clock.now()
    for (let tried = 0; tried < USER_CODE_TRIES; tried += 1) {
      const secrets = {
        userCode: newUserCode(),
        deviceCode: newSecret('svcd_'),
        mailToken: newSecret('svcm_'),
        // In development the answer carries the mail's own token, so there is no second one.
        handleToken: settings.devLinks ? null : newSecret('svcm_'),
      }
      const expiresAt = addSeconds(createdAt, settings.loginSeconds)
      const row = {
        ...{ deviceId, deviceName, startIp, startUserAgent },
        invitationId: invitation?.id ?? null,
        userCode: secrets.userCode,
        deviceCodeHash: hashSecret(secrets.deviceCode),
        mailTokenHash: hashSecret(secrets.mailToken),
        handleTokenHash: secrets.handleToken && hashSecret(secrets.handleToken),
        createdAt,
        expiresAt,
      }
      const id = await logins.create(row, invitation?.accountId ?? null)
      if (id) return { id, expiresAt, ...secrets }
    }
    throw new Error('No user code was free.')
  }

  async function mailLink(to: Mailer, { email, team }: Invitation, login: Kept, wanted: Wanted): Promise<void> {
    const { id, expiresAt, mailToken } = login
    const link = new Secret(linkTo(mailToken))
    const userCode = approvalMode === 'code' ? null : showUserCode(login.userCode)
    const { deviceName, startIp } = wanted
    const letter = approveLoginMail({ link, userCode, deviceName, startIp, startedAt: clock.now(), expiresAt, team })
    try {
      await to.send({ to: email, ...letter, link })
    } catch (error) {
      if (!(error instanceof MailError)) throw error
      // Nobody can have the link, so nobody must wait for it.
      await logins.cancel(id)
      log.warn({ loginId: id, reason: error.message }, 'device_login.mail_failed')
      throw new ApiError('email_unavailable', { cause: error })
    }
  }

  function linkTo(token: Secret): string {
    return `${needs.baseUrl}/v1/auth/magic/consume?token=${token.reveal()}`
  }

  return async (wanted) => {
    await limits.starts.take(networkKey(wanted.startIp))
    const invitation = wanted.email === null ? null : await admit(wanted.email, wanted)
    const login = await keep(invitation, wanted)
    if (invitation && mailer) await mailLink(mailer, invitation, login, wanted)
    log.info({ loginId: login.id, ...(invitation && { accountId: invitation.accountId }) }, 'device_login.started')
    return {
      id: login.id,
      userCode: showUserCode(login.userCode),
      deviceCode: login.deviceCode,
      verificationUri: linkTo(login.handleToken ?? login.mailToken),
      expiresAt: login.expiresAt,
    }
  }
}
