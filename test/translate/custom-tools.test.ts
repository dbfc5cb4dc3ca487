import { expect, it } from 'vitest'
import { toInput } from '../../src/gateway/dialects/tools/custom-tools.ts'

it.each([
  ['{"input":"ls -l"}', 'ls -l'],
  // What backends write for a call without arguments.
  ['{}', ''],
  ['', ''],
  ['ls -l', 'ls -l'],
  ['{"input":1}', '{"input":1}'],
  ['{"command":"ls"}', '{"command":"ls"}'],
])('a call of a custom tool with the arguments %s has the input %j', (args, input) => {
  expect(toInput(args)).toBe(input)
})
