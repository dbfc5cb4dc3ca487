import type { Redis } from 'ioredis'
import type { Config } from '../../config/values.ts'
import { combineLimits, openRateLimits } from '../../http/rate-limit.ts'
import { DAY_SECONDS } from '../../kernel/durations.ts'

type Needs = {
  readonly settings: Config['signInLimits']
  /** Requests of one account; 0 switches the limit off. */
  readonly accountRequestsPerMinute: number
  /** Whether emails leave this machine. An outbox is a folder, so there is nothing to limit. */
  readonly sendsMail: boolean
  /** Null: each process counts for itself. */
  readonly redis: Redis | null
}

export type ControlLimits = ReturnType<typeof makeControlLimits>

const WINDOW_SECONDS = 600
/** Emails that an admin of a team can cause by invitations, as a multiple of those to one address. */
const MAILS_OF_TEAM = 40

/**
 * The rate limits of the control plane. The settings give the main number of each kind; the other numbers are multiples
 * of it.
 */
export function makeControlLimits({ settings, accountRequestsPerMinute, sendsMail, redis }: Needs) {
  const open = openRateLimits(redis)
  const inWindow = (name: string, points: number, what?: string) =>
    open(name, { points, seconds: WINDOW_SECONDS, ...(what && { what }) })
  const { startsPerIp, userCodes } = settings
  const mailsPerAddress = sendsMail ? settings.mailsPerAddress : 0
  // All emails that somebody else can cause count together.
  const mails = combineLimits(
    [inWindow('mails', mailsPerAddress), open('mails-a-day', { points: mailsPerAddress * 6, seconds: DAY_SECONDS })],
    'emails to this address',
  )
  return {
    accounts: open('requests-of-account', {
      points: accountRequestsPerMinute,
      seconds: 60,
      what: 'requests of your account',
    }),
    logins: {
      starts: inWindow('starts', startsPerIp, 'logins from your network'),
      notInvited: inWindow('not-invited', Math.ceil(startsPerIp / 3), 'addresses without an invitation'),
      mails,
    },
    invitationMails: { ofAddress: mails, ofTeam: inWindow('invitation-mails', mailsPerAddress * MAILS_OF_TEAM) },
    signInLinks: { requests: inWindow('sign-in-links', startsPerIp, 'sign-in links from your network'), mails },
    keyNotices: inWindow('key-notices', mailsPerAddress),
    passkeyStarts: inWindow('passkey-starts', startsPerIp, 'sign-ins from your network'),
    userCodes: {
      session: inWindow('codes-session', userCodes),
      account: inWindow('codes-account', userCodes * 2),
      network: inWindow('codes-network', userCodes * 6),
    },
  }
}
