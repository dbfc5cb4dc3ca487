import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { ONE_PERSON_DIRECTORY, startDeployment } from '../support/deployment.ts'
import type { Deployment } from '../support/deployment.ts'
import { hasRedis } from '../support/redis.ts'
import { readToEnd, repeatCalls } from '../support/repeated-calls.ts'
import { answersJson } from '../support/upstream.ts'
import { waitUntil } from '../support/wait.ts'

describe('a deployment of two control planes and two gateways', () => {
  let deployment: Deployment
  let accessToken: string

  beforeAll(async () => {
    deployment = await startDeployment({ directory: ONE_PERSON_DIRECTORY, redis: hasRedis })
    ;({ accessToken } = await deployment.signIn('ada@example.com'))
  }, 120_000)
  beforeEach(() => deployment.upstream.restart(answersJson({ object: 'chat.completion', choices: [] })))
  afterAll(() => deployment[Symbol.asyncDispose]())

  const call = () => readToEnd(deployment.call(accessToken))

  it('spreads connections over the processes of a role', async () => {
    const { outcomes } = await callFor(40)
    expect(outcomes).toEqual({ '200': expect.any(Number) })
    const hasCall = (output: string) => output.includes('/v1/chat/completions')
    for (const { process } of deployment.gateways) await waitUntil('a call in the log', process.output, hasCall)
  })

  it('serves calls by the other gateway while one is killed, and by both after its start', async () => {
    const [first] = deployment.gateways
    await first?.process.kill()
    expect((await callFor(20)).outcomes).toMatchObject({ '200': expect.any(Number) })
    await first?.start()
    expect((await callFor(20)).outcomes).toEqual({ '200': expect.any(Number) })
  }, 90_000)

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

  /** Lets four callers repeat a model call until `count` calls have ended. */
  async function callFor(count: number) {
    const calls = repeatCalls(4, call)
    await waitUntil(
      `${count} calls`,
      () => calls.report().count,
      (seen) => seen >= count,
    )
    return calls.stop()
  }
})
