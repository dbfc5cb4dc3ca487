import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { ONE_PERSON_DIRECTORY, startDeployment } from '../support/deployment.ts'
import type { Deployment } from '../support/deployment.ts'
import { readToEnd } from '../support/repeated-calls.ts'
import { answersJson } from '../support/upstream.ts'
import { waitForValue, waitUntil } from '../support/wait.ts'

const CALLS = 5

let directory: string
let deployment: Deployment
let accessToken: string
let expected = 0

beforeAll(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'svc-spool-'))
  const env = { SVC_SPOOL_DIR: directory }
  deployment = await startDeployment({ directory: ONE_PERSON_DIRECTORY, controlPlanes: 1, gateways: 1, env })
  deployment.upstream.restart(answersJson({ object: 'chat.completion', choices: [] }))
  ;({ accessToken } = await deployment.signIn('ada@example.com'))
}, 120_000)
afterAll(async () => {
  await deployment[Symbol.asyncDispose]()
  await rm(directory, { recursive: true })
})

async function countEvents(): Promise<number> {
  const client = new pg.Client(deployment.databaseUrl.reveal())
  await client.connect()
  try {
    return Number((await client.query<{ count: string }>('SELECT count(*) FROM call_events')).rows[0]?.count)
  } finally {
    await client.end()
  }
}

async function makeCalls(): Promise<void> {
  for (let n = 0; n < CALLS; n++) expect(await readToEnd(deployment.call(accessToken))).toBe('200')
  expected += CALLS
}

it.each(['stop', 'kill'] as const)(
  'loses no event of a call by a %s while Postgres is gone',
  async (end) => {
    const [gateway] = deployment.gateways
    if (!gateway) throw new Error('The deployment has no gateway.')
    await makeCalls()
    await waitForValue('the events', countEvents, expected)
    await deployment.postgres.kill()
    try {
      await makeCalls()
      const isSpooled = (names: string[]) => names.some((name) => name.endsWith('.json'))
      if (end === 'kill') await waitUntil('the spool', () => readdir(directory), isSpooled)
      await gateway.process[end]()
    } finally {
      await deployment.postgres.restart()
    }
    expect(await countEvents()).toBe(expected - CALLS)
    await gateway.start()
    await waitForValue('the events', countEvents, expected)
    await waitForValue('the spool', () => readdir(directory), [])
  },
  90_000,
)
