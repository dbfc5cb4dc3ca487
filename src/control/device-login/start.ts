import type { ApprovalMode } from '../../config/values.ts'
import type { FindInvitation, Invitation } from '../../directory/memberships.ts'
import { ApiError } from '../../http/errors.ts'
import { networkKey } from '../../http/rate-limit.ts'
import type { RateLimit } from '../../http/rate-limit.ts'
import { addSeconds } from '../../kernel/clock.ts'
import type { Clock } from '../../kernel/clock.ts'
import { toEmail } from '../../kernel/email.ts'
import { hashSecret, newSecret, Secret } from '../../kernel/secret.ts'
import { parseTeamName } from '../../kernel/team-name.ts'
import type { Logger } from '../../log.ts'
import { MailError } from '../../mail.ts'
import type { Mailer } from '../../mail.ts'
import { approveLoginMail } from '../mails/approve-login.ts'
import { PATHS } from '../pages/forms.ts'
import { invalidEmail } from '../request-fields.ts'
import type { DeviceLoginStore } from './store.ts'
import { newUserCode, showUserCode } from './user-code.ts'

/** A request of a device to sign in. */
export type LoginRequest = {
  /** Null when the device names no account; the login then gets the account that approves its user code. */
  readonly email: string | null
  /** `@organization/name`; undefined takes the oldest invitation. */
  readonly team: string | undefined
  readonly deviceId: string
  readonly deviceName: string
  /** The OAuth client; null when the request names none. */
  readonly clientId: string | null
  readonly startIp: string
  readonly startUserAgent: string
}

/** A saved login, with the secrets that only its answer carries. */
export type StartedLogin = {
  readonly id: string
  /** `XXXX-XXXX` */
  readonly userCode: string
  readonly deviceCode: Secret
  /** The page of the login, for a person at the waiting device. */
  readonly verificationUri: string
  readonly expiresAt: Date
}

/**
 * Starts a login and emails its link. Throws `invalid_request`, `not_invited`, `rate_limited` and `email_unavailable`;
 * a login whose email was not accepted is cancelled.
 */
export type StartLogin = (request: LoginRequest) => Promise<StartedLogin>

/** The limits of what callers without a credential can make this service do. */
export type StartLimits = {
  /** Logins that one network starts. */
  readonly starts: RateLimit
  /** Addresses without an invitation that one network tries. Many of them are a search for addresses with one. */
  readonly notInvited: RateLimit
  /** Emails to one address. */
  readonly mails: RateLimit
}

export type LoginSettings = {
  readonly loginSeconds: number
  /** Whether the answer carries the token that approves; for development only. */
  readonly devLinks: boolean
  readonly approvalMode: ApprovalMode
}

type Needs = {
  readonly logins: DeviceLoginStore
  readonly findInvitation: FindInvitation
  /** Null when email is not configured. */
  readonly mailer: Mailer | null
  readonly settings: LoginSettings
  readonly limits: StartLimits
  readonly baseUrl: string
  readonly clock: Clock
  readonly log: Logger
}

type SavedLogin = {
  readonly id: string
  readonly userCode: string
  readonly deviceCode: Secret
  readonly mailToken: Secret
  readonly handleToken: Secret | null
  readonly expiresAt: Date
}

/** How many random user codes are tried until one is free among the live logins. */
const MAX_USER_CODE_TRIES = 3

/** Makes the function that device logins and the OAuth device endpoint share. */
export function makeStartLogin(needs: Needs): StartLogin {
  const { logins, findInvitation, mailer, settings, limits, clock, log } = needs

  /** The invitation of an address; throws when there is none. */
  async function admit(typed: string, { team, startIp }: LoginRequest): Promise<Invitation> {
    const email = toEmail(typed)
    if (!email) throw invalidEmail()
    const network = networkKey(startIp)
    // Counted before the look-up and refunded after it, so that concurrent requests cannot pass the limit together.
    await limits.notInvited.take(network)
    let isUnknown = false
    try {
      const invitation = await findInvitation(email, team ? parseTeamName(team) : null)
      isUnknown = invitation === null
      if (!invitation) throw new ApiError('not_invited')
      return invitation
    } finally {
      if (!isUnknown) await limits.notInvited.refund(network)
    }
  }

  /** Counts an email to the address; throws when none can be sent to it. */
  async function admitMail({ email }: Invitation): Promise<void> {
    if (!mailer) throw new ApiError('email_unavailable')
    await limits.mails.take(email)
  }

  async function save(invitation: Invitation | null, request: LoginRequest): Promise<SavedLogin> {
    const { deviceId, deviceName, clientId, startIp, startUserAgent } = request
    const createdAt = clock.now()
    const expiresAt = addSeconds(createdAt, settings.loginSeconds)
    for (let tries = 0; tries < MAX_USER_CODE_TRIES; tries += 1) {
      const secrets = newSecrets(settings.devLinks)
      const row = {
        deviceId,
        deviceName,
        clientId,
        startIp,
        startUserAgent,
        createdAt,
        expiresAt,
        invitationId: invitation?.id ?? null,
        userCode: secrets.userCode,
        deviceCodeHash: hashSecret(secrets.deviceCode),
        mailTokenHash: hashSecret(secrets.mailToken),
        handleTokenHash: secrets.handleToken && hashSecret(secrets.handleToken),
      }
      const created = await logins.create(row, invitation?.accountId ?? null)
      if (created === 'not_invited') throw new ApiError('not_invited')
      if (created !== 'taken') return { ...created, expiresAt, ...secrets }
    }
    throw new Error('No user code was free.')
  }

  async function sendLink(
    to: Mailer,
    { email, team }: Invitation,
    login: SavedLogin,
    { deviceName, startIp }: LoginRequest,
  ): Promise<void> {
    const { id, expiresAt, mailToken } = login
    const link = new Secret(linkTo(mailToken))
    const userCode = settings.approvalMode === 'code' ? null : showUserCode(login.userCode)
    const mail = approveLoginMail({ link, userCode, deviceName, startIp, startedAt: clock.now(), expiresAt, team })
    try {
      await to.send({ to: email, ...mail, link })
    } catch (error) {
      if (!(error instanceof MailError)) throw error
      // The link may not have arrived, so the device must not wait for it.
      await logins.cancel(id, startIp, clock.now())
      log.warn({ loginId: id, reason: error.message }, 'device_login.mail_failed')
      throw new ApiError('email_unavailable', { cause: error })
    }
  }

  function linkTo(token: Secret): string {
    return `${needs.baseUrl}${PATHS.consume}?token=${token.reveal()}`
  }

  return async (request) => {
    await limits.starts.take(networkKey(request.startIp))
    const invitation = request.email === null ? null : await admit(request.email, request)
    if (invitation) await admitMail(invitation)
    const login = await save(invitation, request)
    if (invitation && mailer) await sendLink(mailer, invitation, login, request)
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

/** The secrets of a login. With `devLinks` the answer carries the email's own token, so there is no handle token. */
function newSecrets(devLinks: boolean) {
  return {
    userCode: newUserCode(),
    deviceCode: newSecret('svcd_'),
    mailToken: newSecret('svcm_'),
    handleToken: devLinks ? null : newSecret('svcm_'),
  }
}
