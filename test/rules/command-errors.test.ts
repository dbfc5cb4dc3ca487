import { describe, expect, it } from 'vitest'
import { toCommandError } from '../../src/cli/failures.ts'

const failing = (code: string, more: object = {}) => Object.assign(new Error(`${code}: write`), { code, ...more })

describe('toCommandError', () => {
  it.each([
    [failing('ENOSPC', { path: '/home/ada/tokens.json' }), '/home/ada/tokens.json cannot be used: its disk is full.'],
    [failing('ENOSPC', { path: '/backup/a', dest: '/db/a' }), '/db/a cannot be used: its disk is full.'],
    [failing('EACCES', { path: '/backup/a', dest: '/db/a' }), '/backup/a cannot be used: you lack the permission.'],
    [
      failing('ENOENT', { syscall: 'mkdir', path: '/home/ada/.config' }),
      '/home/ada/.config cannot be used: it cannot be created, because its disk is read-only or missing.',
    ],
    [failing('ENOENT', { syscall: 'open', path: '/a' }), '/a cannot be used: there is no such file.'],
    [failing('ENOSPC'), 'A file cannot be used: its disk is full.'],
  ])('explains %s to people', (error, message) => {
    expect(toCommandError(error)?.message).toBe(message)
  })

  it('explains no error of a kind that it does not know', () => {
    expect(toCommandError(new TypeError('x is not a function'))).toBeNull()
  })
})
