import { afterAll, beforeAll, expect, it } from 'vitest'
import { atOnce } from '../support/requests.ts'
import { startScriptedDeployment } from '../support/scripted-deployment.ts'
import type { ScriptedDeployment } from '../support/scripted-deployment.ts'
import { compareLines, findSavedLines } from '../support/usage-sheet.ts'
import { waitUntil } from '../support/wait.ts'

const CALLS = 80

let scripted: ScriptedDeployment
let made = 0

beforeAll(async () => {
  scripted = await startScriptedDeployment()
}, 120_000)
afterAll(() => scripted[Symbol.asyncDispose]())

const makeCalls = (gateway: number) => atOnce(CALLS, () => scripted.makeCall(made++, gateway))

const compare = async () => compareLines(scripted.lines, await findSavedLines(scripted.deployment.databaseUrl))

it('sums exactly the calls whose events are saved, when one of two gateways is killed in between', async () => {
  const [first] = scripted.deployment.gateways
  if (!first) throw new Error('The deployment has no gateway.')
  await Promise.all([makeCalls(0), makeCalls(1)])
  await waitUntil('the events of both gateways', compare, ({ missing }) => missing.length === 0)

  // These calls may be lost, because their batch is not saved yet.
  const atRisk = made
  await makeCalls(0)
  await first.process.kill()
  const afterwards = made
  await makeCalls(1)
  await first.start()
  await makeCalls(0)
  const mayBeLost = (number: number) => number >= atRisk && number < afterwards
  const { saved, unexpected } = await waitUntil('the events after the kill', compare, ({ missing }) =>
    missing.every(({ call }) => mayBeLost(call.number)),
  )

  expect(unexpected).toEqual([])
  expect(await scripted.compareReports(saved)).toEqual([])
}, 120_000)
