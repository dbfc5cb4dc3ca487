import { describe, expect, it } from 'vitest'
import { outcomeOf } from '../support/requests.ts'
import { startTeam, TEAM_PATH } from '../support/team.ts'

describe('listInvitations', () => {
  describe('200', () => {
    it('lists the active invitations, the oldest first', async () => {
      await using team = await startTeam()
      await team.invite('new@example.com')
      const gone = await team.invite('gone@example.com')
      await team.asAdmin(`${TEAM_PATH}/${gone}`, { method: 'DELETE' })
      const { invitations } = (await (await team.asAdmin(TEAM_PATH)).json()) as { invitations: object[] }
      expect(invitations).toEqual([
        expect.objectContaining({ email: 'ada@example.com', role: 'admin', source: 'directory' }),
        expect.objectContaining({ email: 'member@example.com', role: 'member', source: 'directory' }),
        expect.objectContaining({ email: 'new@example.com', role: 'member', source: 'admin' }),
      ])
    })
  })

  describe('401, 403, 404', () => {
    it('refuses members, and hides the team from other accounts', async () => {
      await using team = await startTeam()
      expect(await outcomeOf(await team.service.fetch(TEAM_PATH))).toBe('401 unauthorized')
      expect(await outcomeOf(await team.asMember(TEAM_PATH))).toBe('403 forbidden')
      expect(await outcomeOf(await team.asStranger(TEAM_PATH))).toBe('404 not_found')
      const none = '/v1/teams/%40acme%2Fnone/invitations'
      expect(await (await team.asStranger(TEAM_PATH)).text()).toBe(await (await team.asStranger(none)).text())
    })
  })
})
