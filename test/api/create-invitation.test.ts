import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { describeRefusals } from '../support/refusals.ts'
import { json, outcomeOf } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import { startTeam, INVITATIONS_PATH } from '../support/team.ts'
import type { TestTeam } from '../support/team.ts'

let team: TestTeam

beforeAll(async () => {
  team = await startTeam()
})
afterAll(() => team[Symbol.asyncDispose]())

const invite = (body: object) => team.asAdmin(INVITATIONS_PATH, json(body))

describe('createInvitation', () => {
  describe('201', () => {
    it('creates an invitation with which the address can sign in', async () => {
      const response = await invite({ email: ' Grace@Example.COM ', role: 'admin' })
      expect(response.status).toBe(201)
      expect(await response.json()).toMatchObject({ email: 'grace@example.com', role: 'admin', source: 'admin' })
      expect((await team.service.signIn('grace@example.com')).team).toBe('@acme/core')
    })

    it('emails the person what svc is, which team invites them, and how to sign in', async () => {
      const response = await invite({ email: 'new@example.com', role: 'admin' })
      expect(await response.json()).toMatchObject({ emailed: true })
      const [mail] = await team.service.mailbox.waitFor('new@example.com', 'You are invited to @acme/core')
      expect(mail?.text.replaceAll('\u200B', '')).toContain('ada@example.com')
      expect(mail?.text).toMatch(/^http:\/\/localhost:8787\/sign-in$/m)
      expect(mail?.text).toContain('svc login http://localhost:8787')
      expect(mail?.text).toContain('as an admin')
    })

    it('says that it sent no email where the service sends none', async () => {
      await using own = await startTeam()
      await using silent = await startService({ database: own.service.database, mail: false })
      const response = await silent.fetch(INVITATIONS_PATH, json({ email: 'new@example.com' }, own.admin))
      expect(await response.json()).toMatchObject({ email: 'new@example.com', emailed: false })
    })

    it('keeps the invitation when a directory file without it is applied', async () => {
      await using own = await startTeam()
      await own.invite('grace@example.com')
      await own.service.applyDirectory(
        'organizations: [{ name: acme, teams: [{ name: core, models: [], members: [{ email: ada@example.com, role: admin }] }] }]\nmodels: []\n',
      )
      expect((await own.service.signIn('grace@example.com')).account).toBe('grace@example.com')
    })

    it('invites a withdrawn address again, and its earlier sessions stay ended', async () => {
      const id = await team.invite('back@example.com')
      const old = await team.service.signIn('back@example.com')
      await team.asAdmin(`${INVITATIONS_PATH}/${id}`, { method: 'DELETE' })
      expect((await invite({ email: 'back@example.com' })).status).toBe(201)
      expect((await team.service.clientOf(old.accessToken).GET('/device')).response.status).toBe(401)
      const body = { account: 'back@example.com', refreshToken: old.refreshToken }
      expect((await team.service.client.POST('/v1/auth/token/refresh', { body })).response.status).toBe(401)
    })

    it('keeps a person whom the directory file has withdrawn and an admin has invited again', async () => {
      await using own = await startTeam()
      const { applyDirectory, signIn } = own.service
      const file = (more: string) =>
        `organizations: [{ name: acme, teams: [{ name: core, members: [{ email: ada@example.com, role: admin }${more}] }] }]`
      await applyDirectory(file(', { email: grace@example.com }'))
      await applyDirectory(file(''))
      await own.invite('grace@example.com')
      await applyDirectory(file(''))
      expect((await signIn('grace@example.com')).account).toBe('grace@example.com')
    })

    it('writes an audit event with the admin', async () => {
      const id = await team.invite('written@example.com')
      const rows = await team.service.database.prisma.auditEvent.findMany({
        where: { subjectId: id },
        orderBy: { id: 'asc' },
      })
      expect(rows).toMatchObject([{ kind: 'invitation.created', details: { by: 'admin', role: 'member' } }])
    })
  })

  describe('400', () => {
    it('refuses a text that is not an email address', async () => {
      expect(await outcomeOf(await invite({ email: 'a@b.test, c@d.test' }))).toBe('400 invalid_request')
    })
  })

  describeRefusals({
    service: () => team.service,
    method: 'POST',
    path: INVITATIONS_PATH,
    by: () => team.admin,
    body: { email: 'somebody@example.com' },
  })

  describe('403 and 404', () => {
    it('refuses members, and hides the team from other accounts', async () => {
      const body = json({ email: 'x@example.com' })
      expect(await outcomeOf(await team.asMember(INVITATIONS_PATH, body))).toBe('403 forbidden')
      expect(await outcomeOf(await team.asStranger(INVITATIONS_PATH, body))).toBe('404 not_found')
    })
  })

  describe('409', () => {
    it('refuses an address that is already invited', async () => {
      expect(await outcomeOf(await invite({ email: 'member@example.com' }))).toBe('409 conflict')
    })
  })
})
