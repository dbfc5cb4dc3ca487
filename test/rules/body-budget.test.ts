import { execFileSync } from 'node:child_process'
import { ServerResponse } from 'node:http'
import type { IncomingMessage } from 'node:http'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, it } from 'vitest'
import { CountedBody, defaultBodyBudget, openBodyBudget } from '../../src/http/body-budget.ts'
import type { BodyBudget } from '../../src/http/body-budget.ts'

const KB = 1024

/** A body of a response that is open. `close` closes the response. */
function open(budget: BodyBudget) {
  const res = new ServerResponse({} as IncomingMessage)
  const close = () => res.emit('close')
  return Object.assign(new CountedBody(budget, res), { close })
}

it('refuses what exceeds it until another body is released', () => {
  const budget = openBodyBudget(1000 * KB)
  const [first, second, third] = [open(budget), open(budget), open(budget)]
  expect(first.resize(600 * KB)).toBe(true)
  expect(second.resize(401 * KB)).toBe(false)
  expect(second.resize(400 * KB)).toBe(true)
  expect(third.resize(64 * KB)).toBe(false)
  first.release()
  first.release()
  expect(third.resize(601 * KB)).toBe(false)
  expect(third.resize(600 * KB)).toBe(true)
})

it('counts what a body really takes, once it is known', () => {
  const budget = openBodyBudget(1000 * KB)
  const [body, other] = [open(budget), open(budget)]
  body.resize(1000 * KB)
  body.resize(300 * KB)
  expect(other.resize(701 * KB)).toBe(false)
  expect(other.resize(700 * KB)).toBe(true)
})

it('counts no small body, nor more of a large one than there is room for', () => {
  const budget = openBodyBudget(1000 * KB)
  const [body, other] = [open(budget), open(budget)]
  expect(body.resize(63 * KB)).toBe(true)
  expect(other.resize(1000 * KB)).toBe(true)
  expect(body.resize(63 * KB)).toBe(true)
  expect(body.resize(64 * KB)).toBe(false)
  other.resize(500 * KB)
  expect(body.resize(501 * KB)).toBe(false)
  expect(body.resize(500 * KB)).toBe(true)
  other.release()
  expect(body.resize(10_000 * KB)).toBe(true)
})

it('gives the room of a body back when its response closes, and counts it no more', () => {
  const budget = openBodyBudget(1000 * KB)
  const [body, other] = [open(budget), open(budget)]
  body.resize(1000 * KB)
  expect(other.resize(64 * KB)).toBe(false)
  body.close()
  expect(body.resize(1000 * KB)).toBe(true)
  expect(other.resize(1000 * KB)).toBe(true)
})

it('has room for a body of any size while there is no other', () => {
  const budget = openBodyBudget(1000 * KB)
  const [body, other] = [open(budget), open(budget)]
  expect(body.resize(10_000 * KB)).toBe(true)
  expect(other.resize(64 * KB)).toBe(false)
  body.release()
  expect(other.resize(64 * KB)).toBe(true)
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
