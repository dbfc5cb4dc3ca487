import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { closeBackend } from '../../src/gateway/backends/backend.ts'
import { makeSharedLookup } from '../../src/gateway/backends/shared-lookup.ts'
import { judgeWorker } from '../../src/gateway/backends/worker-state.ts'
import { openWorker } from '../../src/gateway/backends/worker.ts'
import type { Worker } from '../../src/gateway/backends/worker.ts'
import { addMs } from '../../src/kernel/clock.ts'
import { Secret } from '../../src/kernel/secret.ts'
import { lists, startEngine } from '../support/engine.ts'
import type { TestEngine } from '../support/engine.ts'
import { answersJson, neverAnswers } from '../support/upstream.ts'

const MODEL = 'qwen3:8b'

/** A list of more than 4 MB, as bytes: making them would take a part of the second that the answer may take. */
const TOO_LARGE = Buffer.from(JSON.stringify({ data: [{ id: 'x'.repeat(4.1 * 1024 * 1024) }] }))

describe('the state of the local worker', () => {
  it('is ready when its list has the model, and follows the list', async () => {
    const { worker, engine, pass } = await startWorker()
    expect(await stateOf(worker)).toBe('ready')

    engine.models = ['llama3:8b']
    pass(1001)
    expect(await stateOf(worker)).toBe('model_missing')

    engine.models = [MODEL]
    pass(1001)
    expect(await stateOf(worker)).toBe('ready')
  })

  it.each<[string, string, TestEngine['listing']]>([
    ['unhealthy', 'a server of another kind', answersJson({ hello: 'world' })],
    ['unhealthy', 'a server that answers 200 on every path', answersJson({ error: 'Unexpected endpoint or method.' })],
    ['unhealthy', 'a server that loads its model', answersJson({ error: { code: 503 } }, { status: 503 })],
    ['unhealthy', 'a server that breaks off', ({ socket }) => socket.destroySoon()],
    ['unhealthy', 'a list that is too large', ({ res }) => void res.writeHead(200).end(TOO_LARGE)],
    ['model_missing', 'a server without models', lists([])],
  ])('is %s with %s', async (expected, _name, listing) => {
    const { worker, engine } = await startWorker()
    engine.listing = listing
    expect(await stateOf(worker)).toBe(expected)
  })

  it('is unavailable when no server listens', async () => {
    const { worker, engine } = await startWorker()
    await engine[Symbol.asyncDispose]()
    expect(await stateOf(worker)).toBe('unavailable')
  })

  // The timeouts of calls are a minute here, so an answer within a test's time is due to the probe's own.
  it('is unavailable, without waiting for the timeouts of calls, when the server never answers', async () => {
    const { worker, engine } = await startWorker()
    engine.listing = neverAnswers
    expect(await stateOf(worker)).toBe('unavailable')
    await expect.poll(() => engine.openCalls()).toBe(0)
  })

  it('is unavailable, without waiting for the timeouts of calls, when the handshake never ends', async () => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1')
    await new Promise((listening) => silent.once('listening', listening))
    onTestFinished(() => void silent.close())
    const { port } = silent.address() as AddressInfo
    const { worker } = await startWorker({ url: new URL(`https://127.0.0.1:${port}`) })
    expect(await stateOf(worker)).toBe('unavailable')
    await closeBackend(worker)
  })

  it.each(['', '/', '/v1', '/v1/', '/proxy/v1'])(
    'is asked for at the right path when the URL ends with "%s"',
    async (ending) => {
      const { worker, engine } = await startWorker({ ending })
      await worker.checkModels()
      expect(engine.last().url).toBe(`${ending.startsWith('/proxy') ? '/proxy' : ''}/v1/models`)
    },
  )

  it('is asked for with the API key of the engine', async () => {
    const { worker, engine } = await startWorker()
    await worker.checkModels()
    expect(engine.last().headers.authorization).toBe('Bearer engine-key')
  })
})

describe('the probe of the local worker', () => {
  it('is sent once, however many callers ask at the same time', async () => {
    const { worker, engine } = await startWorker()
    await Promise.all(Array.from({ length: 20 }, () => worker.checkModels()))
    expect(engine.probes()).toBe(1)
  })

  it('is not sent before the gateway is used', async () => {
    const { engine } = await startWorker()
    expect(engine.probes()).toBe(0)
  })

  it('is sent in the background while the gateway is used, at most every ten seconds', async () => {
    const { worker, engine, pass } = await startWorker()
    expect(worker.health.lastKnown(MODEL)).toBeNull()
    await expect.poll(() => worker.health.lastKnown(MODEL)).toBe('ready')
    pass(9_000)
    worker.health.lastKnown(MODEL)
    expect(engine.probes()).toBe(1)

    engine.models = []
    pass(1_001)
    expect(worker.health.lastKnown(MODEL)).toBe('ready')
    await expect.poll(() => worker.health.lastKnown(MODEL)).toBe('model_missing')
    expect(engine.probes()).toBe(2)
  })

  it('is sent at once after a failed call', async () => {
    const { worker, engine } = await startWorker()
    await worker.checkModels()
    engine.models = []
    worker.health.recheck()
    await expect.poll(() => worker.health.lastKnown(MODEL)).toBe('model_missing')
  })

  it('is sent again for somebody who asks for the state after a second', async () => {
    const { worker, engine, pass } = await startWorker()
    await worker.checkModels()
    pass(1_000)
    await worker.checkModels()
    expect(engine.probes()).toBe(1)
    pass(1)
    await worker.checkModels()
    expect(engine.probes()).toBe(2)
  })
})

const SILENT = { debug() {}, info() {}, warn() {}, error() {} }

/** A worker with a clock of its own; `url` replaces the engine's. */
async function startWorker({ ending = '', url }: { ending?: string; url?: URL } = {}) {
  const engine = await startEngine()
  let now = new Date('2026-11-21T10:00:00Z')
  const worker = openWorker(
    {
      url: url ?? new URL(ending, engine.url),
      apiKey: new Secret('engine-key'),
      maxTokens: 4096,
      idleTimeoutMs: 60_000,
    },
    {
      ...{ connectTimeoutMs: 60_000, lookup: makeSharedLookup(), outboundProxy: null },
      clock: { now: () => now },
      log: SILENT,
    },
  )
  onTestFinished(async () => {
    await closeBackend(worker)
    await engine[Symbol.asyncDispose]()
  })
  return { worker, engine, pass: (ms: number) => (now = addMs(now, ms)) }
}

async function stateOf(worker: Worker) {
  return judgeWorker(await worker.checkModels(), [MODEL])
}
