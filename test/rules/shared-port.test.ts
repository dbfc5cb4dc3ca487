import { describe, expect, it } from 'vitest'
import { pickReceiver } from '../../src/server/processes/shared-port.ts'

const idle = { open: 0, isStuck: false }
const busy = { open: 5, isStuck: false }
const stuck = { open: 0, isStuck: true }

describe('a new connection of several processes', () => {
  it.each([
    ['the process with the fewest connections', [busy, idle], idle],
    ['the first of those with equally many', [idle, { ...idle }], idle],
    ['one that confirms, even when it has more', [stuck, busy], busy],
    ['no process while none confirms', [stuck], null],
  ])('goes to %s', (_, receivers, expected) => {
    expect(pickReceiver(receivers)).toBe(expected)
  })
})
