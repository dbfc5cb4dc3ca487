import type { Logger } from '../../log.ts'
import { MailError } from '../../mail.ts'
import type { Mailer } from '../../mail.ts'
import type { ComposedMail } from './compose.ts'
import { invitationMail } from './invitation.ts'
import type { InvitationMail } from './invitation.ts'
import { deviceSignedInMail, keyMadeMail, passkeyChangedMail, refreshReusedMail } from './notices.ts'
import type { DeviceSignedIn, KeyMade, PasskeyChanged, RefreshReused } from './notices.ts'
import { spendingReachedMail } from './spending-limit.ts'
import type { SpendingReached } from './spending-limit.ts'

/** What the caller knows; the addresses of the deployment are added. */
type Data<Notice> = Omit<Notice, 'baseUrl' | 'commandUrl'>

/**
 * Tells the owner of an address what happened to the account. Emails are sent in the background: no answer waits for
 * one, and nothing fails when one is not accepted.
 */
export type Notify = {
  /** Whether the service can send email. */
  readonly hasEmail: boolean
  deviceSignedIn(email: string, data: Data<DeviceSignedIn>): void
  passkeyChanged(email: string, data: Data<PasskeyChanged>): void
  refreshReused(email: string, data: Data<RefreshReused>): void
  keyMade(email: string, data: Data<KeyMade>): void
  spendingReached(email: string, data: Data<SpendingReached>): void
  invited(email: string, data: Data<InvitationMail>): void
  /** Lets `settled` also wait for other work that may end with an email. */
  inBackground(work: Promise<void>): void
  /** Resolves when no email is being sent. */
  settled(): Promise<void>
}

type Needs = {
  /** Null when email is not configured; then nothing is sent. */
  readonly mailer: Mailer | null
  readonly baseUrl: string
  /** Where people download the command; null: the deployment does not offer it. */
  readonly commandUrl: string | null
  readonly log: Logger
}

/** Makes the functions that send emails in the background. A failure is logged. */
export function makeNotifier({ mailer, baseUrl, commandUrl, log }: Needs): Notify {
  const pending = new Set<Promise<void>>()

  function send(email: string, notice: string, mail: ComposedMail): void {
    if (!mailer) return
    const sending = mailer.send({ to: email, ...mail }).catch((error: unknown) => {
      const reason = error instanceof MailError ? error.message : 'The email could not be composed.'
      log.warn({ notice, reason }, 'notice.mail_failed')
    })
    inBackground(sending)
  }

  function inBackground(work: Promise<void>): void {
    const tracked = work.finally(() => pending.delete(tracked))
    pending.add(tracked)
  }

  return {
    hasEmail: mailer !== null,
    deviceSignedIn: (email, data) => send(email, 'device_signed_in', deviceSignedInMail({ ...data, baseUrl })),
    passkeyChanged: (email, data) => send(email, 'passkey_changed', passkeyChangedMail({ ...data, baseUrl })),
    refreshReused: (email, data) => send(email, 'refresh_reused', refreshReusedMail({ ...data, baseUrl })),
    keyMade: (email, data) => send(email, 'api_key_made', keyMadeMail({ ...data, baseUrl })),
    spendingReached: (email, data) => send(email, 'spending_limit_reached', spendingReachedMail({ ...data, baseUrl })),
    invited: (email, data) => send(email, 'invited', invitationMail({ ...data, baseUrl, commandUrl })),
    inBackground,
    async settled() {
      // Work that ends may have begun an email.
      while (pending.size > 0) await Promise.all(pending)
    },
  }
}
