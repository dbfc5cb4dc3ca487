import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openEngine } from '../../src/gateway/workers/engine.ts'
import type { Engine } from '../../src/gateway/workers/engine.ts'
import { judgeWorker } from '../../src/gateway/workers/rules.ts'
import { addMs } from '../../src/kernel/clock.ts'
import { Secret } from '../../src/kernel/secret.ts'
import { lists, startEngine } from '../support/engine.ts'
import type { TestEngine } from '../support/engine.ts'
import { answersJson, neverAnswers } from '../support/upstream.ts'

describe('the state of the local worker', () => {
  it('is ready when its list has the model, and follows the list', async () => {
    const { worker, engine, pass } = await openWorker()
    expect(await stateOf(worker)).toBe('ready')

    engine.models = ['llama3:8b']
    pass(1001)
    expect(await stateOf(worker)).toBe('model_missing')

    engine.models = ['qwen3:8b']
    pass(1001)
    expect(await stateOf(worker)).toBe('ready')
  })

  it.each<[string, TestEngine['listing'], string]>([
    ['a server of another kind', answersJson({ hello: 'world' }), 'unhealthy'],
    [
      'a server that answers 200 to unknown paths',
      answersJson({ error: 'Unexpected endpoint or method.' }),
      'unhealthy',
    ],
    ['a server that loads its model', answersJson({ error: { code: 503 } }, { status: 503 }), 'unhealthy'],
    ['a server that breaks off', ({ socket }) => socket.destroySoon(), 'unhealthy'],
    ['a list beyond all measure', answersJson({ data: [{ id: 'x'.repeat(5_000_000) }] }), 'unhealthy'],
    ['a server without models', lists([]), 'model_missing'],
  ])('with %s is told apart', async (_name, listing, expected) => {
    const { worker, engine } = await openWorker()
    engine.listing = listing
    expect(await stateOf(worker)).toBe(expected)
  })

  it('is unavailable where nobody listens', async () => {
    const { worker, engine } = await openWorker()
    await engine[Symbol.asyncDispose]()
    expect(await stateOf(worker)).toBe('unavailable')
  })

  it('is known within a second although the server never answers', async () => {
    const { worker, engine } = await openWorker()
    engine.listing = neverAnswers
    const askedAt = performance.now()
    expect(await stateOf(worker)).toBe('unavailable')
    expect(performance.now() - askedAt).toBeLessThan(1000)
    await expect.poll(() => engine.openCalls()).toBe(0)
  })

  it('is known within a second although the server never finishes the handshake', async () => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1')
    await new Promise((listening) => silent.once('listening', listening))
    onTestFinished(() => void silent.close())
    const { port } = silent.address() as AddressInfo
    const { worker } = await openWorker({ url: new URL(`https://127.0.0.1:${port}`) })
    const askedAt = performance.now()
    expect(await stateOf(worker)).toBe('unavailable')
    expect(performance.now() - askedAt).toBeLessThan(1000)
    await worker.close()
  })

  it('is not configured without a URL, and needs no server', async () => {
    const worker = openEngine({ engine: null, connectTimeoutMs: 1000, clock: { now: () => new Date() }, log: SILENT })
    expect(worker.target).toBeNull()
    expect(await stateOf(worker)).toBe('not_configured')
    await worker.close()
  })

  it.each(['', '/', '/v1', '/v1/', '/proxy/v1'])(
    'is asked for at the right path when the URL ends with "%s"',
    async (ending) => {
      const { worker, engine } = await openWorker({ ending })
      await worker.look()
      expect(engine.last().url).toBe(`${ending.startsWith('/proxy') ? '/proxy' : ''}/v1/models`)
    },
  )

  it('is asked for with the key of the engine', async () => {
    const { worker, engine } = await openWorker()
    await worker.look()
    expect(engine.last().headers.authorization).toBe('Bearer engine-key')
  })
})

describe('the question to the local worker', () => {
  it('is one, however many ask at once', async () => {
    const { worker, engine } = await openWorker()
    await Promise.all(Array.from({ length: 20 }, () => worker.look()))
    expect(engine.probes()).toBe(1)
  })

  it('is not asked before somebody uses the gateway', async () => {
    const { engine } = await openWorker()
    expect(engine.probes()).toBe(0)
  })

  it('is asked in the background while the gateway is used, and not more often than needed', async () => {
    const { worker, engine, pass } = await openWorker()
    expect(worker.glance()).toBeNull()
    await expect.poll(() => worker.glance()).toEqual({ kind: 'listed', models: ['qwen3:8b'] })
    pass(9_000)
    worker.glance()
    expect(engine.probes()).toBe(1)

    engine.models = []
    pass(1_001)
    expect(worker.glance()).toEqual({ kind: 'listed', models: ['qwen3:8b'] })
    await expect.poll(() => worker.glance()).toEqual({ kind: 'listed', models: [] })
    expect(engine.probes()).toBe(2)
  })

  it('is asked at once after a failed call', async () => {
    const { worker, engine } = await openWorker()
    await worker.look()
    engine.models = []
    worker.doubt()
    await expect.poll(() => worker.glance()).toEqual({ kind: 'listed', models: [] })
  })

  it('of somebody who looks is not older than a second', async () => {
    const { worker, engine, pass } = await openWorker()
    await worker.look()
    pass(1_000)
    await worker.look()
    expect(engine.probes()).toBe(1)
    pass(1)
    await worker.look()
    expect(engine.probes()).toBe(2)
  })
})

const SILENT = { debug() {}, info() {}, warn() {}, error() {} }

async function openWorker({ ending = '', url }: { ending?: string; url?: URL } = {}) {
  const engine = await startEngine()
  let now = new Date('2026-11-21T10:00:00Z')
  const worker = openEngine({
    engine: {
      url: url ?? new URL(ending, engine.url),
      apiKey: new Secret('engine-key'),
      maxTokens: 4096,
      idleTimeoutMs: 5000,
    },
    connectTimeoutMs: 5000,
    clock: { now: () => now },
    log: SILENT,
  })
  onTestFinished(async () => {
    await worker.close()
    await engine[Symbol.asyncDispose]()
  })
  return { worker, engine, pass: (ms: number) => (now = addMs(now, ms)) }
}

async function stateOf(worker: Engine) {
  return judgeWorker(await worker.look(), ['qwen3:8b'])
}
