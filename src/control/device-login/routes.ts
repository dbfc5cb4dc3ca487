import { ApiError } from '../../http/errors.ts'
import type { Handlers } from '../../http/operation.ts'
import { ipOf } from '../../http/request.ts'
import { addSeconds } from '../../kernel/clock.ts'
import type { Clock } from '../../kernel/clock.ts'
import { cleanDeviceName } from '../../kernel/device-name.ts'
import { toEmail } from '../../kernel/email.ts'
import { hashSecret, newSalt, newSecret, Secret } from '../../kernel/secret.ts'
import { parseTeamName } from '../../kernel/team-name.ts'
import { newUserCode, showUserCode } from '../../kernel/user-code.ts'
import type { Logger } from '../../log.ts'
import { MailError } from '../../mail.ts'
import type { Mailer } from '../../mail.ts'
import { approveLoginMail } from '../mails/approve-login.ts'
import { answerTokens } from '../tokens/answer.ts'
import type { IssueTokens } from '../tokens/issue.ts'
import { absoluteEnd, idleEnd } from '../tokens/rules.ts'
import type { RefreshLifetimes } from '../tokens/rules.ts'
import type { DeviceSession, DeviceSessionStore } from '../tokens/store.ts'
import { judgePoll, POLL_TOLERANCE_MS, waitSeconds } from './rules.ts'
import type { DeviceLoginStore, FoundLogin, Invitation } from './store.ts'

type Needs = {
  readonly logins: DeviceLoginStore
  readonly sessions: DeviceSessionStore
  readonly issueTokens: IssueTokens
  /** Null: mail is not configured. */
  readonly mailer: Mailer | null
  readonly settings: {
    readonly loginSeconds: number
    readonly pollIntervalSeconds: number
    readonly devLinks: boolean
  }
  readonly approvalMode: 'click' | 'code'
  readonly lifetimes: RefreshLifetimes & { readonly accessTokenSeconds: number }
  readonly baseUrl: string
  readonly secure: boolean
  /** Says to this process that a session has ended. */
  readonly onEnd: (sessionId: string) => void
  readonly clock: Clock
  readonly log: Logger
}

/** A login that is kept, with the secrets that only its answer and its mail carry. */
type Started = {
  readonly id: string
  readonly userCode: string
  readonly deviceCode: Secret
  readonly mailToken: Secret
  readonly handleToken: Secret | null
  readonly expiresAt: Date
}

/** How often a user code may meet a live twin before something is wrong. */
const USER_CODE_TRIES = 3

export function deviceLoginRoutes(needs: Needs): Handlers<'startDeviceLogin' | 'startLogin' | 'pollDeviceLogin'> {
  const { logins, sessions, issueTokens, mailer, settings, approvalMode, lifetimes, secure, clock, log } = needs

  const start: Handlers<'startDeviceLogin'>['startDeviceLogin'] = async (req, res) => {
    const { deviceId, team } = req.body
    const email = toEmail(req.body.email)
    if (!email) throw new ApiError('invalid_request', { message: 'email must be one e-mail address.' })
    const deviceName = cleanDeviceName(req.body.deviceName ?? '') ?? deviceId
    const invitation = await logins.findInvitation(email, team ? parseTeamName(team) : null)
    if (!invitation) throw new ApiError('not_invited')
    if (!mailer) throw new ApiError('email_unavailable')

    const from = {
      deviceId,
      deviceName,
      startIp: ipOf(req),
      startUserAgent: (req.headers['user-agent'] ?? '').slice(0, 512),
    }
    const login = await keep(invitation, from)
    await mailLink(mailer, invitation, login, from)
    log.info({ loginId: login.id, accountId: invitation.accountId }, 'device_login.started')
    res.set('Cache-Control', 'no-store')
    res.status(202).json({
      deviceCode: login.deviceCode.reveal(),
      userCode: showUserCode(login.userCode),
      verificationUri: linkTo(login.handleToken ?? login.mailToken),
      intervalSeconds: settings.pollIntervalSeconds,
      expiresAt: login.expiresAt.toISOString(),
    })
  }

  async function keep(
    invitation: Invitation,
    from: { deviceId: string; deviceName: string; startIp: string; startUserAgent: string },
  ): Promise<Started> {
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
        ...from,
        invitationId: invitation.id,
        userCode: secrets.userCode,
        deviceCodeHash: hashSecret(secrets.deviceCode),
        mailTokenHash: hashSecret(secrets.mailToken),
        handleTokenHash: secrets.handleToken && hashSecret(secrets.handleToken),
        createdAt,
        expiresAt,
      }
      const id = await logins.create(row, invitation.accountId)
      if (id) return { id, expiresAt, ...secrets }
    }
    throw new Error('No user code was free.')
  }

  async function mailLink(
    to: Mailer,
    { email, team }: Invitation,
    login: Started,
    { deviceName, startIp }: { deviceName: string; startIp: string },
  ): Promise<void> {
    const { id, expiresAt, mailToken } = login
    const link = new Secret(linkTo(mailToken))
    const userCode = approvalMode === 'code' ? null : showUserCode(login.userCode)
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

  /** The device's session: made by its first poll, the same one for every later poll. */
  async function openSession(login: FoundLogin, ip: string, now: Date): Promise<DeviceSession> {
    const absoluteExpiresAt = absoluteEnd(now, lifetimes)
    const opened = await sessions.openForLogin(
      {
        loginId: login.id,
        invitationId: login.invitationId,
        deviceId: login.deviceId,
        deviceName: login.deviceName,
        salt: newSalt(),
        createdAt: now,
        lastSeenAt: now,
        lastIp: ip,
        idleExpiresAt: idleEnd(now, lifetimes, absoluteExpiresAt),
        absoluteExpiresAt,
      },
      login.accountId,
    )
    if (!opened) throw new ApiError('not_invited')
    opened.replaced.forEach(needs.onEnd)
    // Between reading the login and this the device may have refreshed or been signed out.
    if (opened.session.revoked || opened.session.generation > 0) throw new ApiError('unauthorized')
    return opened.session
  }

  return {
    startDeviceLogin: start,
    startLogin: start,

    async pollDeviceLogin(req, res) {
      const login = await logins.findByDeviceCode(hashSecret(new Secret(req.body.deviceCode)))
      if (!login) throw new ApiError('unauthorized', { message: 'There is no login with this device code.' })

      const now = clock.now()
      const verdict = judgePoll(login, settings.pollIntervalSeconds, now)
      const tooSoon = () =>
        new ApiError('rate_limited', { retryAfterSeconds: waitSeconds(login, settings.pollIntervalSeconds, now) })
      if (verdict === 'rate_limited') throw tooSoon()
      if (verdict === 'authorization_pending') {
        const noted = await logins.notePoll(login.id, now, settings.pollIntervalSeconds * 1000 - POLL_TOLERANCE_MS)
        if (!noted) throw tooSoon()
      }
      if (verdict !== 'granted') throw new ApiError(verdict)

      const session = await openSession(login, ipOf(req), now)
      const tokens = await issueTokens(session, now)
      res.status(200).json({
        account: session.email,
        organization: session.organization,
        team: session.team,
        deviceId: session.deviceId,
        ...answerTokens(req, res, tokens, { lifetimes, secure }),
      })
    },
  }
}
