import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readFollowed } from '../support/agent-sessions.ts'
import type { Followed } from '../support/agent-sessions.ts'
import { startDeployment } from '../support/deployment.ts'
import type { Deployment } from '../support/deployment.ts'
import { waitForValue } from '../support/wait.ts'

const DIRECTORY = `
organizations:
  - name: acme
    teams:
      - name: core
        models: [vendora/large]
        members: [{ email: ada@example.com }]
models:
  - { id: vendora/large, displayName: Large, owner: vendora, upstreamModel: large-2026 }
`
let deployment: Deployment
let accessToken: string

beforeAll(async () => {
  deployment = await startDeployment({ directory: DIRECTORY })
  accessToken = (await deployment.signIn('ada@example.com')).accessToken
})
afterAll(() => deployment[Symbol.asyncDispose]())

/** Follows the session at one of the two control planes. */
async function follow(index: 0 | 1, after = '0'): Promise<Followed> {
  const origin = deployment.controlPlanes[index]?.origin ?? ''
  const headers = { authorization: `Bearer ${accessToken}` }
  return readFollowed(await fetch(`${origin}/v1/sessions/run-1/stream?team=@acme/core&after=${after}`, { headers }))
}

async function call(): Promise<void> {
  const headers = { authorization: `Bearer ${accessToken}`, 'x-svc-session-id': 'run-1' }
  await (await deployment.call(accessToken, {}, { headers: { ...headers, 'content-type': 'application/json' } })).text()
}

describe('the stream of a session on several processes', () => {
  it('loses and repeats nothing for a follower whose process is killed, and ends when a process stops', async () => {
    const [first, second] = deployment.controlPlanes
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
      if (calls === 9) await first?.process.kill()
    }
    await reader
    await first?.start()
    await using replay = await follow(0)
    expect(seen).toEqual(await replay.untilCurrent())

    const stopped = second?.process.stop()
    expect((await reading.stream?.next())?.type ?? 'end').toMatch(/end|heartbeat/)
    await stopped
  })
})
