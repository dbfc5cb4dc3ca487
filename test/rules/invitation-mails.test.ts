import { expect, it } from 'vitest'
import { makeInvitationEmails } from '../../src/control/invitations/announce.ts'
import { makeControlLimits } from '../../src/control/edge/rate-limits.ts'

const settings = { startsPerIp: 0, mailsPerAddress: 1, userCodes: 0 }

it('invitations of one team cause a limited number of emails, whatever the addresses', async () => {
  const invited: string[] = []
  const { invitationMails } = makeControlLimits({ settings, accountRequestsPerMinute: 0, sendsMail: true, redis: null })
  const { announce } = makeInvitationEmails({
    invitations: { find: async () => null },
    notify: { hasEmail: true, invited: (email: string) => void invited.push(email) },
    mails: invitationMails,
    log: { info: () => undefined, warn: () => undefined },
  })
  const invite = (email: string, team: string) =>
    announce(
      { id: 'i', email, role: 'member', source: 'admin', createdAt: new Date(0) },
      { team, email: 'admin@example.com' },
    )
  for (let at = 0; at < 40; at++) expect(await invite(`${at}@example.com`, '@acme/core')).toBe(true)
  expect(await invite('40@example.com', '@acme/core')).toBe(false)
  // What one team is refused counts for no address.
  expect(await invite('40@example.com', '@acme/other')).toBe(true)
  expect(await invite('40@example.com', '@acme/other')).toBe(false)
  expect(invited).toHaveLength(41)
})

it('an invitation that is saved does not fail when its email cannot be counted', async () => {
  const events: string[] = []
  const fail = () => Promise.reject(new Error('The limit could not be counted.'))
  const limit = { take: fail, tryTake: fail, refund: fail }
  const { announce } = makeInvitationEmails({
    invitations: { find: async () => null },
    notify: { hasEmail: true, invited: () => undefined },
    mails: { ofAddress: limit, ofTeam: limit },
    log: { info: () => undefined, warn: (_fields: object, event: string) => void events.push(event) },
  })
  const invitation = { id: 'i', email: 'grace@example.com', role: 'member', source: 'admin' } as const
  const admin = { team: '@acme/core', email: 'admin@example.com' }
  expect(await announce({ ...invitation, createdAt: new Date(0) }, admin)).toBe(false)
  expect(events).toEqual(['invitation.notice_failed'])
})
