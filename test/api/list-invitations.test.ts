import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectJson, expectOk, outcomeOf } from '../support/requests.ts'
import { startTeam, INVITATIONS_PATH } from '../support/team.ts'
import type { TestTeam } from '../support/team.ts'

type List = { readonly invitations: readonly object[]; readonly next: string | null }

let team: TestTeam
beforeAll(async () => {
  team = await startTeam()
})
afterAll(() => team[Symbol.asyncDispose]())

const list = (query: string) => expectJson<List>('The invitations', team.asAdmin(`${INVITATIONS_PATH}${query}`))

const withdraw = (id: string) =>
  expectOk('The withdrawal', team.asAdmin(`${INVITATIONS_PATH}/${id}`, { method: 'DELETE' }))

async function pagesOf(limit: number): Promise<List['invitations'][]> {
  const pages: List['invitations'][] = []
  for (let after = ''; ;) {
    const { invitations, next } = await list(`?limit=${limit}${after}`)
    pages.push(invitations)
    if (next === null) return pages
    after = `&after=${next}`
  }
}

describe('listInvitations', () => {
  describe('200', () => {
    it('lists the active invitations, the oldest first, in pages', async () => {
      const restored = await team.invite('restored@example.com')
      await withdraw(restored)
      await withdraw(await team.invite('gone@example.com'))
      for (const email of ['new@example.com', 'restored@example.com', 'newest@example.com']) {
        team.service.clock.advance({ seconds: 1 })
        await team.invite(email)
      }
      const { invitations, next } = await list('')
      expect(invitations).toEqual([
        expect.objectContaining({ email: 'ada@example.com', role: 'admin', source: 'directory' }),
        expect.objectContaining({ email: 'member@example.com', role: 'member', source: 'directory' }),
        expect.objectContaining({ email: 'new@example.com', role: 'member', source: 'admin' }),
        // Its id is older than that of the one before it.
        expect.objectContaining({ id: restored, email: 'restored@example.com' }),
        expect.objectContaining({ email: 'newest@example.com' }),
      ])
      expect(next).toBeNull()
      // The first two have the same time, because the directory file has made both.
      expect(await pagesOf(1)).toEqual(invitations.map((invitation) => [invitation]))
      expect(await pagesOf(5)).toEqual([invitations])
    })
  })

  describe('400', () => {
    it.each(['after=5', 'after=', 'limit=0', 'limit=1001'])('refuses %s', async (query) => {
      expect(await outcomeOf(await team.asAdmin(`${INVITATIONS_PATH}?${query}`))).toBe('400 invalid_request')
    })
  })

  describe('401, 403, 404', () => {
    it('refuses members, and hides the team from other accounts', async () => {
      expect(await outcomeOf(await team.service.fetch(INVITATIONS_PATH))).toBe('401 unauthorized')
      expect(await outcomeOf(await team.asMember(INVITATIONS_PATH))).toBe('403 forbidden')
      expect(await outcomeOf(await team.asStranger(INVITATIONS_PATH))).toBe('404 not_found')
      const none = '/v1/teams/%40acme%2Fnone/invitations'
      expect(await (await team.asStranger(INVITATIONS_PATH)).text()).toBe(await (await team.asStranger(none)).text())
    })
  })
})
