import type { FindInvitation, Invitation } from '../../directory/memberships.ts'
import { ApiError } from '../../http/errors.ts'
import { networkKey } from '../../http/rate-limit.ts'
import type { RateLimit } from '../../http/rate-limit.ts'
import { addSeconds } from '../../kernel/clock.ts'
import type { Clock } from '../../kernel/clock.ts'
import { hashSecret, newSecret, Secret } from '../../kernel/secret.ts'
import { parseTeamName } from '../../kernel/team-name.ts'
import type { Logger } from '../../log.ts'
import { MailError } from '../../mail.ts'
import type { Mailer } from '../../mail.ts'
import { signInLinkMail } from '../mails/sign-in-link.ts'
import { PATHS } from '../pages/forms.ts'
import { SIGN_IN_LINK_SECONDS } from './rules.ts'
import type { SignInLinkStore } from './store.ts'

/** Emails links that sign browsers in. */
export type SignInLinks = {
  /** Whether the service can send email. */
  readonly hasEmail: boolean
  /**
   * Emails a link to an address if it is invited. Resolves before that is known, so that neither the result nor its
   * time tells who is invited. Throws `rate_limited` by network, `email_unavailable` without email, and
   * `service_unavailable` without the database.
   */
  request(email: string, ip: string): Promise<void>
  /**
   * Emails a link to a person who is signed in to a team. Throws `rate_limited` by address, `email_unavailable`, and
   * `authenticate_first` when the invitation has been withdrawn, which has ended the session.
   */
  send(person: { readonly email: string; readonly team: string }, ip: string): Promise<void>
}

type Needs = {
  readonly links: SignInLinkStore
  readonly findInvitation: FindInvitation
  /** Whether the database answers. */
  readonly ping: () => Promise<boolean>
  /** Null when email is not configured. */
  readonly mailer: Mailer | null
  readonly limits: {
    /** Links that one network asks for. */
    readonly requests: RateLimit
    /** Emails to one address. */
    readonly mails: RateLimit
  }
  /** Lets the process wait for work in the background before it stops. */
  readonly inBackground: (work: Promise<void>) => void
  readonly baseUrl: string
  readonly clock: Clock
  readonly log: Logger
}

/** Makes the functions that create a link and email it. */
export function makeSignInLinks(needs: Needs): SignInLinks {
  const { links, findInvitation, ping, mailer, limits, inBackground, baseUrl, clock, log } = needs

  async function sendLink({ id, accountId, email }: Invitation, ip: string): Promise<void> {
    if (!mailer) throw new ApiError('email_unavailable')
    await limits.mails.take(email)
    const token = newSecret('svci_')
    const hash = hashSecret(token)
    const createdAt = clock.now()
    const expiresAt = addSeconds(createdAt, SIGN_IN_LINK_SECONDS)
    const isSaved = await links.save({ hash, invitationId: id, createdAt, expiresAt, ip })
    if (!isSaved) throw new ApiError('authenticate_first')
    const link = new Secret(`${baseUrl}${PATHS.signInLink}?token=${token.reveal()}`)
    const mail = signInLinkMail({ link, baseUrl, requestIp: ip, requestedAt: createdAt, expiresAt })
    try {
      await mailer.send({ to: email, ...mail, link })
    } catch (error) {
      if (!(error instanceof MailError)) throw error
      await links.cancel(hash, ip, clock.now())
      log.warn({ accountId, reason: error.message }, 'sign_in_link.mail_failed')
      throw new ApiError('email_unavailable', { cause: error })
    }
    log.info({ accountId }, 'sign_in_link.sent')
  }

  /** The part of a request that depends on the address. It runs in the background. */
  async function sendIfInvited(email: string, ip: string): Promise<void> {
    try {
      const invitation = await findInvitation(email, null)
      if (invitation) await sendLink(invitation, ip)
    } catch (error) {
      // A refusal is logged where it happens, or is the limit of emails to this address.
      if (!(error instanceof ApiError)) log.error({ err: error }, 'sign_in_link.failed')
    }
  }

  return {
    hasEmail: mailer !== null,
    async send({ email, team }, ip) {
      const invitation = await findInvitation(email, parseTeamName(team))
      if (!invitation) throw new ApiError('authenticate_first')
      await sendLink(invitation, ip)
    },
    async request(email, ip) {
      await limits.requests.take(networkKey(ip))
      if (!mailer) throw new ApiError('email_unavailable')
      if (!(await ping())) throw new ApiError('service_unavailable')
      inBackground(sendIfInvited(email, ip))
    },
  }
}
