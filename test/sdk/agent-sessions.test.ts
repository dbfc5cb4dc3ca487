import { describe, expect, it } from 'vitest'
import { createClient, followAgentSession, memoryTokenStore, StreamError } from '../../generated/sdk/index.js'
import type { SvcClientOptions } from '../../generated/sdk/index.js'

const TOKENS = {
  account: 'a',
  team: '@a/b',
  deviceId: 'd',
  accessToken: 'a',
  refreshToken: 'r',
  expiresAt: '',
}

const started = (id: number) => `{"id":"${id}","type":"call.started","at":"2026-11-21T09:00:00.000Z"}\n`
const heartbeat = '{"id":"2","type":"heartbeat","at":"2026-11-21T09:00:00.000Z"}\n'
const lines = (text: string) => new Response(text, { headers: { 'content-type': 'application/x-ndjson' } })
const refusal = (status: number) =>
  Response.json({ type: 'error', error: { type: 'api_error', code: 'x', message: 'No.' } }, { status })

/** Follows with a deployment that answers each request with the next of these, until it refuses for good. */
async function followWith(answers: (() => Response)[], options: Partial<SvcClientOptions> = {}) {
  const asked: string[] = []
  const waits: number[] = []
  const client = createClient({
    baseUrl: 'http://localhost',
    retries: 0,
    ...options,
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

  it('throws the error of the accessToken function of the program', async () => {
    const problem = new Error('no keychain')
    const found = ['a']
    const accessToken = () => found.shift() ?? Promise.reject(problem)
    const { asked, error } = await followWith([() => lines(started(1))], { accessToken })
    expect([asked, error]).toEqual([['0'], problem])
  })

  it.each(['load', 'save', 'exclusively'] as const)('throws the error of %s of the token store', async (name) => {
    const problem = new Error('no keychain')
    const tokens = memoryTokenStore(TOKENS)
    const breakStore = () => {
      tokens[name] = () => Promise.reject(problem)
      return refusal(401)
    }
    const first = () => {
      if (name === 'load') breakStore()
      return lines(started(1))
    }
    const { error } = await followWith([first, breakStore, breakStore], { tokens })
    expect(error).toBe(problem)
  })

  it('connects again when the tokens cannot be refreshed because of the connection', async () => {
    const tokens = memoryTokenStore(TOKENS)
    const failing = () => {
      throw new TypeError('fetch failed')
    }
    const answers = [() => lines(started(1)), () => refusal(401), failing, failing, () => lines(started(2))]
    expect((await followWith(answers, { tokens })).seen).toEqual(['1', '2'])
  })

  it('throws a StreamError for an event that is not JSON', async () => {
    const { error } = await followWith([() => lines(`${started(1)}{"id":\n`)])
    expect(error).toBeInstanceOf(StreamError)
    expect(error).toMatchObject({ code: 'stream_failed', body: '{"id":' })
  })
})
