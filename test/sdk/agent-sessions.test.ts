import { describe, expect, it } from 'vitest'
import { createClient, followAgentSession } from '../../generated/sdk/index.js'

const started = (id: number) => `{"id":"${id}","type":"call.started","at":"2026-11-21T09:00:00.000Z"}\n`
const heartbeat = '{"id":"2","type":"heartbeat","at":"2026-11-21T09:00:00.000Z"}\n'
const lines = (text: string) => new Response(text, { headers: { 'content-type': 'application/x-ndjson' } })
const refusal = (status: number) =>
  Response.json({ type: 'error', error: { type: 'api_error', code: 'x', message: 'No.' } }, { status })

/** Follows with a deployment that answers each request with the next of these, until it refuses for good. */
async function followWith(answers: (() => Response)[]) {
  const asked: string[] = []
  const waits: number[] = []
  const client = createClient({
    baseUrl: 'http://localhost',
    retries: 0,
    async fetch({ url }) {
      asked.push(new URL(url).searchParams.get('after') ?? '')
      return (answers.shift() ?? (() => refusal(404)))()
    },
  })
  const seen: string[] = []
  const session = { sessionId: 'run-1', team: '@acme/core' }
  const wait = async (seconds: number) => void waits.push(seconds)
  const ended = (async () => {
    for await (const { id } of followAgentSession(client, session, { wait })) seen.push(id)
  })()
  const error: unknown = await ended.catch((reason: unknown) => reason)
  return { asked, waits, seen, error }
}

describe('following a session of an agent', () => {
  it('continues behind the last event when a stream ends, and leaves heartbeats out', async () => {
    const { asked, seen } = await followWith([
      () => lines(started(1) + started(2) + heartbeat),
      () => lines(`${started(3)}{"id":`),
    ])
    expect(seen).toEqual(['1', '2', '3'])
    expect(asked).toEqual(['0', '2', '3'])
  })

  it('waits longer after each failure, and a second again after an event', async () => {
    const failing = () => {
      throw new TypeError('fetch failed')
    }
    const { waits } = await followWith([
      () => lines(started(1)),
      failing,
      () => refusal(503),
      failing,
      failing,
      () => lines(started(2)),
    ])
    expect(waits).toEqual([1, 2, 4, 8, 15, 1])
  })

  it('throws when the first connection fails, and when the deployment refuses', async () => {
    const failed = await followWith([
      () => {
        throw new TypeError('fetch failed')
      },
    ])
    expect([failed.asked, failed.error]).toEqual([['0'], expect.any(TypeError)])
    expect((await followWith([() => refusal(404)])).error).toMatchObject({ status: 404 })
  })
})
