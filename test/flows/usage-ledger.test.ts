import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { UsageReport } from '../../src/control/usage/report.ts'
import { startDeployment } from '../support/deployment.ts'
import type { Deployment } from '../support/deployment.ts'
import { expectJson, json } from '../support/requests.ts'
import { answersScripted, PRICE, SCRIPTED_CALLS } from '../support/scripted-usage.ts'
import type { Counted } from '../support/scripted-usage.ts'
import { waitUntil } from '../support/wait.ts'

const DIRECTORY = `
organizations:
  - name: acme
    teams:
      - name: core
        models: [vendora/large]
        members: [{ email: ada@example.com, role: admin }]
backends:
  - { name: vendora, dialects: [chat, responses, messages] }
models:
  - id: vendora/large
    displayName: Large
    owner: vendora
    price: ${JSON.stringify(PRICE)}
    serve: [{ backend: vendora, model: large-2026 }]
`

let deployment: Deployment
let accessToken: string
/** What each call must add to the sums, by its request id. */
const sheet = new Map<string, Counted>()

beforeAll(async () => {
  deployment = await startDeployment({ directory: DIRECTORY, controlPlanes: 1 })
  deployment.upstream.restart(answersScripted)
  ;({ accessToken } = await deployment.signIn('ada@example.com'))
}, 120_000)
afterAll(() => deployment[Symbol.asyncDispose]())

/** Makes every scripted call once at a gateway; resolves with their request ids. */
async function makeCalls(origin: string): Promise<string[]> {
  const made = SCRIPTED_CALLS.map(async ({ path, body, counted }) => {
    const request = json({ model: 'vendora/large', ...body }, { authorization: `Bearer ${accessToken}` })
    const answer = await fetch(origin + path, request)
    expect(answer.status).toBe(200)
    await answer.text().catch(() => 'cut')
    const id = answer.headers.get('x-request-id') ?? ''
    sheet.set(id, counted)
    return id
  })
  return Promise.all(made)
}

/** The ids of the calls whose events the database has. */
async function findSaved(): Promise<string[]> {
  const client = new pg.Client(deployment.databaseUrl.reveal())
  await client.connect()
  try {
    const { rows } = await client.query<{ id: string }>(`SELECT request_id AS id FROM call_events`)
    return rows.map(({ id }) => id)
  } finally {
    await client.end()
  }
}

const haveAll = (ids: readonly string[]) => (saved: readonly string[]) => ids.every((id) => saved.includes(id))

function addUp(ids: readonly string[]): Record<string, number> {
  const sums = new Map<string, number>()
  for (const id of ids) {
    const counted = sheet.get(id)
    if (!counted) throw new Error(`The call ${id} is not on the sheet.`)
    for (const [name, count] of Object.entries(counted)) sums.set(name, (sums.get(name) ?? 0) + count)
  }
  return Object.fromEntries(sums)
}

it('sums exactly the calls whose events are saved, when one of two gateways is killed in between', async () => {
  const [first, second] = deployment.gateways
  if (!first || !second) throw new Error('The deployment has too few gateways.')
  const before = (await Promise.all([makeCalls(first.origin), makeCalls(second.origin)])).flat()
  await waitUntil('the events of both gateways', findSaved, haveAll(before))

  // The last calls of the first gateway may be lost, because their batch is not saved yet.
  await makeCalls(first.origin)
  await first.process.kill()
  const meanwhile = await makeCalls(second.origin)
  await first.start()
  const after = await makeCalls(first.origin)
  const saved = await waitUntil('the events after the kill', findSaved, haveAll([...before, ...meanwhile, ...after]))

  const url = `${deployment.controlPlanes[0]?.origin}/v1/teams/%40acme%2Fcore/usage?by=dialect`
  const report = fetch(url, { headers: { authorization: `Bearer ${accessToken}` } })
  const { total, rows } = await expectJson<UsageReport>('The report', report)
  expect(total).toMatchObject({ calls: saved.length, ...addUp(saved) })
  expect(new Set(saved).size).toBe(saved.length)
  expect(rows.map(({ id }) => id).toSorted()).toEqual(['chat', 'messages', 'responses'])
}, 120_000)
