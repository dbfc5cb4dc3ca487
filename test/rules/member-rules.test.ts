import { expect, it } from 'vitest'
import { judgeMemberChange } from '../../src/control/members/rules.ts'

const admin = { role: 'admin', source: 'admin' } as const
const member = { role: 'member', source: 'admin' } as const

it.each([
  ['a member of the directory file', { role: 'member', source: 'directory' }, 'admin', 1, 'listed'],
  ['an admin of the directory file', { role: 'admin', source: 'directory' }, null, 1, 'listed'],
  ['the removal of the only admin', admin, null, 0, 'last_admin'],
  ['the only admin as a member', admin, 'member', 0, 'last_admin'],
  ['the only admin as an admin', admin, 'admin', 0, 'allowed'],
  ['one of two admins', admin, 'member', 1, 'allowed'],
  ['the removal of a member of a team without an admin', member, null, 0, 'allowed'],
  ['a member who becomes an admin', member, 'admin', 0, 'allowed'],
] as const)('judges a change of a member: %s', (_name, found, wanted, otherAdmins, verdict) => {
  expect(judgeMemberChange(found, wanted, otherAdmins)).toBe(verdict)
})
