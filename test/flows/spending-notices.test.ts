import { expect, it } from 'vitest'
import { makeNoticeStore } from '../../src/control/spending-limits/store.ts'
import type { Sql } from '../../src/database/sql.ts'
import { newUserHandle } from '../../src/kernel/identifier.ts'
import { freshDatabase } from '../support/database.ts'
import { limitOf, USD } from '../support/spending-limits.ts'

const NOW = new Date('2026-11-21T10:00:00Z')
const LIMIT = limitOf({ id: '01939c1e-6a5b-7c3d-8e4f-0a1b2c3d4e5f', subject: 'members' })

it('what many members have reached is claimed once, a part each minute, by one statement', async () => {
  await using database = await freshDatabase()
  const emails = Array.from({ length: 300 }, (_, index) => `person-${index}@example.com`)
  const accounts = await database.prisma.account.createManyAndReturn({
    data: emails.map((email) => ({ email, userHandle: newUserHandle(), createdAt: NOW })),
  })
  const reached = accounts.map(({ id }) => {
    return { limit: LIMIT, accountId: id, percent: 100, spentNanoUsd: 10 * USD } as const
  })
  const texts: string[] = []
  const query = <Row>(statement: Sql) => {
    texts.push(statement.text)
    return database.query<Row>(statement)
  }
  const { claim } = makeNoticeStore({ query })
  // Both shares of a member are claimed: 80 % and 100 %.
  const sizes: number[] = []
  const told: (string | null)[] = []
  while (sizes.at(-1) !== 0) {
    texts.length = 0
    const claimed = await claim(reached, NOW)
    sizes.push(claimed.length)
    told.push(...claimed.map(({ member }) => member))
  }
  expect(Math.max(...sizes)).toBe(50)
  expect(told.toSorted()).toEqual(emails.toSorted())
  expect(texts).toHaveLength(1)
})

it('a notice about a member whose account was deleted meanwhile is not sent', async () => {
  await using database = await freshDatabase()
  const gone = { limit: LIMIT, accountId: crypto.randomUUID(), percent: 80, spentNanoUsd: 8 * USD } as const
  const ofTeam = { ...gone, limit: { ...LIMIT, id: crypto.randomUUID() }, accountId: null } as const
  const claimed = await makeNoticeStore(database).claim([gone, ofTeam], NOW)
  expect(claimed).toEqual([{ ...ofTeam, member: null, admins: [] }])
})

it('an admin who has left the team is not told', async () => {
  await using database = await freshDatabase()
  const { prisma } = database
  const team = await prisma.team.create({ data: { name: 'core', organization: { create: { name: 'acme' } } } })
  const invitation = { role: 'admin', source: 'admin', createdAt: NOW, team: { connect: { id: team.id } } } as const
  for (const [email, revokedAt] of [
    ['ada@example.com', null],
    ['left@example.com', NOW],
  ] as const) {
    const account = { create: { email, userHandle: newUserHandle(), createdAt: NOW } }
    await prisma.invitation.create({ data: { ...invitation, account, revokedAt } })
  }
  const { id } = await prisma.spendingLimit.create({
    data: { teamId: team.id, subject: 'team', period: 'day', amountNanoUsd: BigInt(10 * USD), createdAt: NOW },
  })
  const reached = { limit: limitOf({ id }), accountId: null, percent: 80, spentNanoUsd: 8 * USD } as const
  expect(await makeNoticeStore(database).claim([reached], NOW)).toMatchObject([{ admins: ['ada@example.com'] }])
})
