import { describe, expect, it } from 'vitest'
import { describeChanges, findRefusal } from '../../src/directory/change-rules.ts'
import type { DirectoryChanges } from '../../src/directory/change-rules.ts'

const NONE = { added: 0, changed: 0, removed: 0 }
const CHANGES: DirectoryChanges = {
  ...{ members: 20, invited: 0, roles: 0, withdrawn: 0 },
  ...{ teams: NONE, models: NONE, backends: NONE },
  ...{ revision: null, lastRevision: null },
}

describe('findRefusal', () => {
  it.each<[string, Partial<DirectoryChanges>, boolean]>([
    ['no withdrawals', {}, false],
    ['withdrawals of 30 %', { withdrawn: 6 }, false],
    ['withdrawals of more than 30 %', { withdrawn: 7 }, true],
    ['all four members of a small team', { members: 4, withdrawn: 4 }, false],
    ['all five members', { members: 5, withdrawn: 5 }, true],
    ['all members with a first revision', { withdrawn: 20, revision: 1 }, false],
    ['all members with a newer revision', { withdrawn: 20, revision: 8, lastRevision: 7 }, false],
    ['all members with the same revision', { withdrawn: 20, revision: 7, lastRevision: 7 }, true],
    ['all members without a revision after one with it', { withdrawn: 20, lastRevision: 7 }, true],
    ['no withdrawals with an older revision', { revision: 6, lastRevision: 7 }, true],
  ])('for %s: refused is %s', (_, changes, isRefused) => {
    expect(findRefusal({ ...CHANGES, ...changes }) !== null).toBe(isRefused)
  })

  it('says how many members would be withdrawn and what to do', () => {
    expect(findRefusal({ ...CHANGES, withdrawn: 12 })).toMatch(/withdraw 12 of 20 members.*"revision".*--force/)
  })

  it('says which revision was applied before and what to do', () => {
    expect(findRefusal({ ...CHANGES, revision: 6, lastRevision: 7 })).toMatch(/6 is older.* 7.*"revision".*--force/)
  })
})

describe('describeChanges', () => {
  it('names what has changed, and nothing else', () => {
    const changes = { ...CHANGES, invited: 2, withdrawn: 1, models: { ...NONE, changed: 3 } }
    expect(describeChanges(changes)).toBe('members: 2 invited, 1 withdrawn; models: 3 changed')
    expect(describeChanges(CHANGES)).toBe('nothing has changed')
  })
})
