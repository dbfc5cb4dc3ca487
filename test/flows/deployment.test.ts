import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { EventBatch } from '../../src/gateway/usage/events.ts'
import { readFollowed } from '../support/agent-sessions.ts'
import type { Followed } from '../support/agent-sessions.ts'
import { startDeployment } from '../support/deployment.ts'
import type { Deployment, Instance } from '../support/deployment.ts'
import { hasRedis } from '../support/redis.ts'
import { readToEnd, repeatCalls } from '../support/repeated-calls.ts'
import { atOnce, bearerOf, json } from '../support/requests.ts'
import { openScriptedCalls, startScriptedBackends } from '../support/scripted/scripted-deployment.ts'
import type { ScriptedBackends, ScriptedCalls } from '../support/scripted/scripted-deployment.ts'
import { answersJson } from '../support/upstream.ts'
import { compareLines, findSavedLines } from '../support/scripted/usage-sheet.ts'
import { waitForValue, waitUntil } from '../support/wait.ts'

const CORE = { name: 'core', models: ['vendora/large'], members: [{ email: 'ada@example.com' }] }
const VENDORA = { name: 'vendora', dialects: ['chat', 'responses', 'messages'] }
const LARGE = {
  id: 'vendora/large',
  displayName: 'Large',
  owner: 'vendora',
  serve: [{ backend: 'vendora', model: 'large-2026' }],
}

/** More than these tests reach, because all requests come from one address. */
const LIMITS = Object.fromEntries(
  ['REQUESTS_PER_MINUTE', 'STREAMS', 'ACCOUNT_REQUESTS_PER_MINUTE', 'ACCOUNT_STREAMS'].map((name) => [
    `SVC_LIMIT_${name}`,
    '100000',
  ]),
)

// One deployment for all these tests, because its processes take seconds of CPU time to start.
let scripted: ScriptedBackends
let deployment: Deployment
let accessToken: string
let first: Instance

beforeAll(async () => {
  scripted = await startScriptedBackends()
  const directory = {
    organizations: [{ name: 'acme', teams: [CORE, scripted.team] }],
    backends: [VENDORA, ...scripted.backends],
    models: [LARGE, ...scripted.models],
  }
  deployment = await startDeployment({ directory: JSON.stringify(directory), redis: hasRedis, env: LIMITS })
  ;({ accessToken } = await deployment.signIn('ada@example.com'))
  const [gateway] = deployment.gateways
  if (!gateway) throw new Error('The deployment has no gateway.')
  first = gateway
}, 120_000)
beforeEach(() => deployment.upstream.restart(answersJson({ object: 'chat.completion', choices: [] })))
afterAll(async () => {
  await deployment[Symbol.asyncDispose]()
  await scripted[Symbol.asyncDispose]()
})

/** The ids of the calls whose events the database has. */
async function findSaved(): Promise<string[]> {
  const client = new pg.Client(deployment.databaseUrl.reveal())
  await client.connect()
  try {
    const found = await client.query<{ id: string }>('SELECT request_id AS id FROM call_events')
    return found.rows.map(({ id }) => id)
  } finally {
    await client.end()
  }
}

const haveAll = (ids: readonly string[]) => (saved: readonly string[]) => ids.every((id) => saved.includes(id))

/** Lets four callers repeat a model call until `count` calls have ended. */
async function callFor(count: number) {
  const calls = repeatCalls(4, () => readToEnd(deployment.call(accessToken)))
  await waitUntil(
    `${count} calls`,
    () => calls.report().count,
    (seen) => seen >= count,
  )
  return calls.stop()
}

describe('a deployment of two control planes and two gateways', () => {
  it('spreads connections over the processes of a role', async () => {
    const { outcomes } = await callFor(40)
    expect(outcomes).toEqual({ '200': expect.any(Number) })
    const hasCall = (output: string) => output.includes('/v1/chat/completions')
    for (const { process } of deployment.gateways) await waitUntil('a call in the log', process.output, hasCall)
  })

  it.runIf(hasRedis)('answers calls of a known session while Redis is frozen', async () => {
    deployment.redis?.freeze()
    try {
      expect((await callFor(20)).outcomes).toEqual({ '200': expect.any(Number) })
    } finally {
      deployment.redis?.thaw()
    }
  })

  it('answers calls of a known session while Postgres is frozen', async () => {
    expect((await callFor(8)).outcomes).toEqual({ '200': expect.any(Number) })
    await deployment.postgres.freeze()
    try {
      expect((await callFor(20)).outcomes).toEqual({ '200': expect.any(Number) })
    } finally {
      deployment.postgres.thaw()
    }
  })
})

describe('the events of calls', () => {
  /** Makes calls at the first gateway; resolves with their request ids. */
  async function makeCalls(): Promise<string[]> {
    const ids: string[] = []
    for (let n = 0; n < 5; n++) {
      const body = { model: 'vendora/large', messages: [{ role: 'user', content: 'Hi' }] }
      const request = json(body, bearerOf(accessToken))
      const answer = await fetch(`${first.origin}/v1/chat/completions`, request)
      expect(await readToEnd(Promise.resolve(answer))).toBe('200')
      ids.push(answer.headers.get('x-request-id') ?? '')
    }
    return ids
  }

  /** The ids of the calls whose last event the spool of the first gateway has. */
  async function findSpooled(): Promise<string[]> {
    const directory = deployment.spoolOf(0)
    const names = (await readdir(directory)).filter((name) => name.endsWith('.json'))
    const texts = await Promise.all(names.map((name) => readFile(path.join(directory, name), 'utf8')))
    return texts
      .flatMap((text) => (JSON.parse(text) as EventBatch).events)
      .flatMap(({ kind, call }) => (kind === 'started' ? [] : [call.requestId]))
  }

  it.each(['stop', 'kill'] as const)(
    'are all saved, and once, after a %s of a gateway while Postgres is gone, and the other one serves meanwhile',
    async (end) => {
      const before = await makeCalls()
      await waitUntil('the events', findSaved, haveAll(before))
      await deployment.postgres.kill()
      let meanwhile: string[]
      try {
        meanwhile = await makeCalls()
        // A kill loses what no file holds yet. The calls may be in several files, since one is written twice a second.
        if (end === 'kill') await waitUntil('the spool', findSpooled, haveAll(meanwhile))
        await first.process[end]()
      } finally {
        await deployment.postgres.restart()
      }
      expect((await findSaved()).filter((id) => meanwhile.includes(id))).toEqual([])
      // The other gateway serves all calls meanwhile. One that was sent on a connection of the killed one has failed.
      expect((await callFor(20)).outcomes).toMatchObject({ '200': expect.any(Number) })
      await first.start()
      expect((await callFor(20)).outcomes).toEqual({ '200': expect.any(Number) })
      const made = [...before, ...meanwhile]
      const saved = await waitUntil('the events', findSaved, haveAll(made))
      expect(saved.filter((id) => made.includes(id)).toSorted()).toEqual(made.toSorted())
      await waitForValue('the spool', () => readdir(deployment.spoolOf(0)), [])
    },
    90_000,
  )
})

describe('the usage of calls', () => {
  const CALLS = 50
  let calls: ScriptedCalls
  let made = 0
  beforeAll(async () => {
    calls = await openScriptedCalls(deployment, scripted)
  })

  const makeCalls = (gateway: number) => atOnce(CALLS, () => calls.makeCall(made++, gateway))
  const compare = async () => compareLines(calls.lines, await findSavedLines(deployment.databaseUrl))

  it('is summed exactly for the calls whose events are saved, when one of two gateways is killed in between', async () => {
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
    expect(await calls.compareReports(saved)).toEqual([])
  }, 120_000)
})

// Last, because it ends with both control planes stopped.
describe('the stream of a session on several processes', () => {
  /** Follows the session at one of the two control planes. */
  async function follow(index: 0 | 1, after = '0'): Promise<Followed> {
    const origin = deployment.controlPlanes[index]?.origin ?? ''
    const headers = bearerOf(accessToken)
    return readFollowed(await fetch(`${origin}/v1/sessions/run-1/stream?team=@acme/core&after=${after}`, { headers }))
  }

  async function call(): Promise<void> {
    const credentials = { authorization: `Bearer ${accessToken}`, 'x-svc-session-id': 'run-1' }
    const headers = { ...credentials, 'content-type': 'application/json' }
    await (await deployment.call(accessToken, {}, { headers })).text()
  }

  it('loses and repeats nothing for a follower whose process is killed, and ends when a process stops', async () => {
    const [one, other] = deployment.controlPlanes
    const seen: string[] = []
    const reading: { stream: Followed | null; index: 0 | 1 } = { stream: await follow(0), index: 0 }
    /** Reads until the calls are over, and continues at the other process when a connection breaks. */
    const readAll = async (count: number) => {
      while (seen.length < count) {
        const event = await reading.stream?.next().catch(() => null)
        if (event && event.type !== 'heartbeat') seen.push(event.id)
        if (event) continue
        reading.index = reading.index === 0 ? 1 : 0
        reading.stream = await follow(reading.index, seen.at(-1)).catch(() => null)
      }
    }
    const reader = readAll(48)
    for (let calls = 0; calls < 24; calls++) {
      await call()
      if (calls === 8) await waitForValue('the first events', () => seen.length > 0, true)
      if (calls === 9) await one?.process.kill()
    }
    await reader
    await using replay = await follow(1)
    expect(seen).toEqual(await replay.untilCurrent())

    const stopped = other?.process.stop()
    expect((await reading.stream?.next())?.type ?? 'end').toMatch(/end|heartbeat/)
    await stopped
  })
})
