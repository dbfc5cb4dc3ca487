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
    findEmail: async () => 'admin@example.com',
    log: { info: () => undefined, warn: () => undefined },
  })
  const invite = (email: string, team: string) =>
    announce({ id: 'i', email, role: 'member', source: 'admin', createdAt: new Date(0) }, { team, accountId: 'admin' })
  for (let at = 0; at < 40; at++) expect(await invite(`${at}@example.com`, '@acme/core')).toBe(true)
  expect(await invite('40@example.com', '@acme/core')).toBe(false)
  // What one team is refused counts for no address.
  expect(await invite('40@example.com', '@acme/other')).toBe(true)
  expect(await invite('40@example.com', '@acme/other')).toBe(false)
  expect(invited).toHaveLength(41)
})

it('an invitation that is saved does not fail when its email cannot be addressed', async () => {
  const events: string[] = []
  const { invitationMails } = makeControlLimits({ settings, accountRequestsPerMinute: 0, sendsMail: true, redis: null })
  const { announce } = makeInvitationEmails({
    invitations: { find: async () => null },
    notify: { hasEmail: true, invited: () => undefined },
    mails: invitationMails,
    findEmail: () => Promise.reject(new Error('the database is unavailable')),
    log: { info: () => undefined, warn: (_fields: object, event: string) => void events.push(event) },
  })
  const invitation = { id: 'i', email: 'grace@example.com', role: 'member', source: 'admin' } as const
  const inviter = { team: '@acme/core', accountId: 'admin' }
  expect(await announce({ ...invitation, createdAt: new Date(0) }, inviter)).toBe(false)
  expect(events).toEqual(['invitation.notice_failed'])
})
