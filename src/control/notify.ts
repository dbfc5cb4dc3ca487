import type { Logger } from '../log.ts'
import { MailError } from '../mail.ts'
import type { Mailer } from '../mail.ts'
import type { Mail } from './mails/letter.ts'
import { deviceSignedInMail, passkeyChangedMail, refreshReusedMail } from './mails/notices.ts'
import type { DeviceSignedIn, PasskeyChanged, RefreshReused } from './mails/notices.ts'

type Data<Notice> = Omit<Notice, 'devicePage'>

/**
 * Tells the owner of an address what happened to the account. The mail goes out in the background: whoever waits for an answer does
 * not wait for it, and nothing fails when it is not accepted.
 */
export type Notify = {
  deviceSignedIn(email: string, data: Data<DeviceSignedIn>): void
  passkeyChanged(email: string, data: Data<PasskeyChanged>): void
  refreshReused(email: string, data: Data<RefreshReused>): void
  /** Resolves when nothing is under way any more. */
  settled(): Promise<void>
}

type Needs = {
  /** Null: mail is not configured, and nobody is told. */
  readonly mailer: Mailer | null
  readonly baseUrl: string
  readonly log: Logger
}

export function notifier({ mailer, baseUrl, log }: Needs): Notify {
  const underWay = new Set<Promise<void>>()
  const devicePage = `${baseUrl}/device`

  function send(email: string, notice: string, mail: Mail): void {
    if (!mailer) return
    const sending = mailer
      .send({ to: email, ...mail })
      .catch((error: unknown) => {
        const reason = error instanceof MailError ? error.message : 'The mail could not be made.'
        log.warn({ notice, reason }, 'notice.mail_failed')
      })
      .finally(() => underWay.delete(sending))
    underWay.add(sending)
  }

  return {
    deviceSignedIn: (email, data) => send(email, 'device_signed_in', deviceSignedInMail({ ...data, devicePage })),
    passkeyChanged: (email, data) => send(email, 'passkey_changed', passkeyChangedMail({ ...data, devicePage })),
    refreshReused: (email, data) => send(email, 'refresh_reused', refreshReusedMail({ ...data, devicePage })),
    async settled() {
      await Promise.all(underWay)
    },
  }
}
