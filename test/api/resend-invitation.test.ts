import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { describeRefusals } from '../support/refusals.ts'
import { expectJson, expectOk, outcomeOf, withMethod } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import { INVITATIONS_PATH, startTeam } from '../support/team.ts'
import type { TestTeam } from '../support/team.ts'

const SUBJECT = 'You are invited to @acme/core'

let team: TestTeam
let waiting: string

beforeAll(async () => {
  team = await startTeam()
  waiting = await team.invite('waiting@example.com')
})
afterAll(() => team[Symbol.asyncDispose]())

const resend = (id: string, by = team.admin) =>
  team.service.fetch(`${INVITATIONS_PATH}/${id}/resend`, withMethod('POST', by))

/** The id of an invitation of the directory file. */
async function findListed(email: string): Promise<string> {
  const answer = team.asAdmin(INVITATIONS_PATH)
  const { invitations } = await expectJson<{ invitations: { id: string; email: string }[] }>('The list', answer)
  return invitations.find((one) => one.email === email)?.id ?? ''
}

describe('resendInvitation', () => {
  describe('200', () => {
    it('emails an invited person again', async () => {
      await team.service.mailbox.waitFor('waiting@example.com', SUBJECT)
      expect(await (await resend(waiting)).json()).toEqual({ ok: true })
      const [first, second] = await team.service.mailbox.waitFor('waiting@example.com', SUBJECT, 2)
      expect(second?.text).toBe(first?.text)
    })

    it('emails a person whom the directory file lists, who got no email before', async () => {
      expect((await resend(await findListed('member@example.com'))).status).toBe(200)
      const [mail] = await team.service.mailbox.waitFor('member@example.com', SUBJECT)
      expect(mail?.text.replaceAll('\u200B', '')).toContain('“ada@example.com” has invited you to the team @acme/core')
    })
  })

  describe('400', () => {
    it('refuses an id that is not a UUID', async () => {
      expect(await outcomeOf(await resend('waiting@example.com'))).toBe('400 invalid_request')
    })
  })

  describeRefusals({
    service: () => team.service,
    method: 'POST',
    path: () => `${INVITATIONS_PATH}/${waiting}/resend`,
    by: () => team.admin,
  })

  describe('403', () => {
    it('refuses members of the team', async () => {
      expect(await outcomeOf(await resend(waiting, team.member))).toBe('403 forbidden')
    })
  })

  describe('404', () => {
    it('refuses withdrawn invitations, which get no email, and hides the team from other accounts', async () => {
      const gone = await team.invite('gone@example.com')
      await team.service.mailbox.waitFor('gone@example.com', SUBJECT)
      await expectOk('The withdrawal', team.asAdmin(`${INVITATIONS_PATH}/${gone}`, { method: 'DELETE' }))
      expect(await outcomeOf(await resend(gone))).toBe('404 not_found')
      expect(await outcomeOf(await resend(waiting, team.stranger))).toBe('404 not_found')
      expect(team.service.mailbox.mails.filter(({ to }) => to.includes('gone@example.com'))).toHaveLength(1)
    })
  })

  describe('429', () => {
    it('says how long to wait when the address got too many emails', async () => {
      await using own = await startTeam({ env: { SVC_LIMIT_MAILS_PER_ADDRESS: '2' } })
      const path = `${INVITATIONS_PATH}/${await own.invite('often@example.com')}/resend`
      expect((await own.asAdmin(path, { method: 'POST' })).status).toBe(200)
      const refused = await own.asAdmin(path, { method: 'POST' })
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
      expect(await outcomeOf(refused)).toBe('429 rate_limited')
    })
  })

  describe('503', () => {
    it('says that the service cannot send email', async () => {
      await using own = await startTeam()
      const id = await own.invite('waiting@example.com')
      await using silent = await startService({ database: own.service.database, mail: false })
      const sent = silent.fetch(`${INVITATIONS_PATH}/${id}/resend`, withMethod('POST', own.admin))
      expect(await outcomeOf(await sent)).toBe('503 email_unavailable')
    })
  })
})
