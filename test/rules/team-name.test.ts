import { expect, it } from 'vitest'
import { formatTeamName, parseTeamName } from '../../src/kernel/team-name.ts'

it.each([
  ['@acme/core', { organization: 'acme', name: 'core' }],
  ['@a/0', { organization: 'a', name: '0' }],
  ['@acme.example/data-and_ml.2', { organization: 'acme.example', name: 'data-and_ml.2' }],
  [`@${'a'.repeat(64)}/core`, { organization: 'a'.repeat(64), name: 'core' }],
])('%s is read, and written the same', (text, team) => {
  expect(parseTeamName(text)).toEqual(team)
  expect(formatTeamName(team)).toBe(text)
})

it.each([
  [''],
  ['acme/core'],
  ['@acme'],
  ['@acme/'],
  ['@/core'],
  ['@acme/core/x'],
  ['@Acme/core'],
  ['@acme/.core'],
  ['@acme/co re'],
  ['@acme/core\n'],
  ['@@acme/core'],
  [`@${'a'.repeat(65)}/core`],
])('%j is not a team', (text) => {
  expect(parseTeamName(text)).toBeNull()
})
