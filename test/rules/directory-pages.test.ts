import { describe, expect, it } from 'vitest'
import { readDirectoryFile } from '../../src/directory/rules.ts'
import { cutTeams, joinTeams } from '../../src/server/files/directory-pages.ts'

const read = readDirectoryFile(`
organizations:
  - name: first
    teams:
      - { name: a, models: [v/m], members: [{ email: a1@example.com }, { email: a2@example.com }] }
      - { name: b, members: [{ email: b1@example.com }] }
      - { name: c }
  - name: empty
    teams: []
  - name: last
    teams: [{ name: d, members: [{ email: d1@example.com }] }]
models: [{ id: v/m, displayName: M, owner: v }]
`)
if ('mistakes' in read) throw new Error(read.mistakes.join('\n'))
const { directory } = read

describe('the pages of a directory', () => {
  it.each([1, 3, 4, 100])('give the same directory, with pages of %d', (maxSize) => {
    const { outline, pages } = cutTeams(directory, maxSize)
    expect(joinTeams(outline, pages)).toEqual(directory)
  })

  it('end with the team that makes them large enough, and with the organization', () => {
    const names = cutTeams(directory, 3).pages.map(({ teams }) => teams.map(({ name }) => name))
    expect(names).toEqual([['a'], ['b', 'c'], ['d']])
  })

  it('have all teams, so that what is left of the directory has none', () => {
    expect(cutTeams(directory).outline.organizations.flatMap(({ teams }) => teams)).toEqual([])
  })
})
