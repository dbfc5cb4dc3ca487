import { describe, expect, it } from 'vitest'
import { findById } from '../../src/cli/arguments/find-by-id.ts'

const items = ['abcd1', 'abcd12', 'bcde2'].map((id) => ({ id }))
const find = (start: string) => findById(items, start, { plural: 'devices' })?.id

describe('an item of a list is found by its ID', () => {
  it.each([
    ['bcde2', 'bcde2'],
    ['bcde', 'bcde2'],
    ['abcd12', 'abcd12'],
    // The whole ID of one item, and the start of another's.
    ['abcd1', 'abcd1'],
    ['cdef', undefined],
  ])('%s: %s', (start, id) => {
    expect(find(start)).toBe(id)
  })

  it('and two that start alike are named', () => {
    expect(() => find('abcd')).toThrow(
      'Several devices have an ID that starts with abcd: abcd1, abcd12. Give more of it.',
    )
    const options = { plural: 'sessions', nameOf: ({ id }: { id: string }) => `${id} of Ada`, hint: 'Add --account.' }
    expect(() => findById(items, 'abcd', options)).toThrow('with abcd: abcd1 of Ada, abcd12 of Ada. Add --account.')
  })

  it.each(['', 'bcd'])('and a start that is too short is wrong usage: "%s"', (start) => {
    expect(() => find(start)).toThrow(
      expect.objectContaining({ exitStatus: 2, message: expect.stringContaining(`The ID "${start}" is too short.`) }),
    )
  })

  it('also by a short one', () => {
    expect(findById([{ id: 'run' }], 'run', { plural: 'sessions' })).toEqual({ id: 'run' })
  })
})
