import { execFileSync } from 'node:child_process'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, it } from 'vitest'
import { defaultBodyBudget, openBodyBudget } from '../../src/http/body-budget.ts'

it('has room for as many bytes as are held, until they are given back', () => {
  const budget = openBodyBudget(100)
  const first = budget.take(60)
  expect(budget.take(41)).toBeNull()
  const second = budget.take(40)
  expect(budget.take(1)).toBeNull()
  first?.release()
  first?.release()
  expect(budget.take(61)).toBeNull()
  expect(budget.take(60)).not.toBeNull()
  expect(second).not.toBeNull()
})

it('counts what a body really takes, once it is known', () => {
  const budget = openBodyBudget(100)
  const held = budget.take(100)
  held?.resize(30)
  expect(budget.take(71)).toBeNull()
  expect(budget.take(70)).not.toBeNull()
})

it('does not count more of a body than there is room for', () => {
  const budget = openBodyBudget(100)
  const held = budget.take(0)
  expect(held?.resize(1000)).toBe(true)
  held?.resize(40)
  const other = budget.take(50)
  expect(held?.resize(51)).toBe(false)
  expect(held?.resize(50)).toBe(true)
  other?.release()
  expect(held?.resize(1000)).toBe(true)
})

it('does not count a body that is read after it was given back', () => {
  const budget = openBodyBudget(100)
  const held = budget.take(100)
  held?.release()
  held?.resize(100)
  budget.take(30)
  expect(budget.take(70)).not.toBeNull()
})

it('has room for a body of any size while there is no other', () => {
  const budget = openBodyBudget(100)
  const held = budget.take(1000)
  expect(held).not.toBeNull()
  expect(budget.take(1)).toBeNull()
  held?.release()
  expect(budget.take(1)).not.toBeNull()
})

it('has by default at most a quarter of the heap, whatever the memory of the machine', () => {
  const source = pathToFileURL(path.join(import.meta.dirname, '../../src/http/body-budget.ts')).href
  const program = `import { defaultBodyBudget } from '${source}'; process.stdout.write(String(defaultBodyBudget(1)))`
  const heapMiB = 200
  const args = [`--max-old-space-size=${heapMiB}`, '--max-semi-space-size=1', '--input-type=module', '--eval', program]
  const bytes = Number(execFileSync(process.execPath, args, { encoding: 'utf8' }))
  expect(bytes).toBeLessThan((heapMiB / 3) * 1024 * 1024)
  expect(bytes).toBeGreaterThan(0)
  expect(defaultBodyBudget(1)).toBeGreaterThan(bytes)
})
