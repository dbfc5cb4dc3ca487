import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import type { TracingConfig } from '../../src/config/tracing.ts'
import type { DirectoryBackend } from '../../src/directory/backends.ts'
import type { Dialect } from '../../src/kernel/dialect.ts'
import { openOtlpTracing } from '../../src/server/telemetry/otlp-tracing.ts'
import { ROOT } from '../support/source/documents.ts'
import { startGateway } from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'
import { freePort } from '../support/loopback.ts'
import { recordSpans, SPAN_CONTEXT } from '../support/recorded-spans.ts'
import { serveEntry, servedModel } from '../support/served-models.ts'
import { answersJson, startUpstream } from '../support/upstream.ts'
import type { TestUpstream } from '../support/upstream.ts'

const CALLERS_CONTEXT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'

const ANSWER = {
  ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'large-2026-11-21' },
  choices: [{ index: 0, message: { role: 'assistant', content: 'the-answer' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1000, completion_tokens: 10, prompt_tokens_details: { cached_tokens: 600 } },
}
const BODY = { model: 'any/model', messages: [{ role: 'user', content: 'the-question' }] }
const PRICE = { input: 2, output: 10, cacheRead: 1 }

function listed(name: string, dialect: Dialect, { url }: TestUpstream): DirectoryBackend {
  const credential = { env: 'TOKEN', file: null, as: 'bearer' } as const
  return { name, dialects: [dialect], url: url.href, basePath: '/v1', credential }
}

describe('the spans of a model call', () => {
  const recorded = recordSpans()
  let first: TestUpstream
  let second: TestUpstream
  let gateway: TestGateway

  beforeAll(async () => {
    ;[first, second] = await Promise.all([startUpstream(), startUpstream(answersJson(ANSWER))])
    const serve = ['first', 'second'].map((name, rank) => serveEntry(name, 'large-2026', { rank }))
    gateway = await startGateway({
      engine: second.url,
      tracer: recorded.tracer,
      backends: [
        listed('first', 'chat', first),
        listed('second', 'chat', second),
        listed('third', 'responses', second),
      ],
      team: {
        models: [
          servedModel('any/model', { serve, price: PRICE }),
          servedModel('any/first', { serve: [serveEntry('first', 'large-2026')] }),
          servedModel('any/responses', { serve: [serveEntry('third', 'large-2026')] }),
          servedModel('svc/local', { backendModel: 'large-2026' }),
        ],
      },
    })
  })
  afterAll(async () => {
    for (const one of [gateway, first, second]) await one[Symbol.asyncDispose]()
  })
  beforeEach(() => {
    recorded.spans.length = 0
    first.restart(answersJson({ error: { message: 'the-error' } }, { status: 529 }))
  })

  let runs = 0

  const call = async (body: object = BODY) => {
    runs += 1
    const headers = { traceparent: CALLERS_CONTEXT, 'x-svc-session-id': `run-${runs}` }
    await (await gateway.post('/v1/chat/completions', body, { headers })).text()
  }
  const ended = (count: number) => expect.poll(() => recorded.spans.length).toBe(count)

  it('are one for the call, in the trace of its caller, and one for each attempt', async () => {
    await call()
    await ended(3)
    expect(recorded.spans.map(({ kind, name, parent, error }) => [kind, name, parent, error])).toEqual([
      ['client', 'chat large-2026', 'chat any/model', '529'],
      ['client', 'chat large-2026', 'chat any/model', null],
      ['server', 'chat any/model', CALLERS_CONTEXT, null],
    ])
    const usage = {
      'gen_ai.usage.input_tokens': 1000,
      'gen_ai.usage.cache_read.input_tokens': 600,
      'gen_ai.usage.output_tokens': 10,
    }
    const ending = { 'gen_ai.response.model': 'large-2026-11-21', 'gen_ai.response.finish_reasons': ['stop'] }
    expect(recorded.spans[1]?.attributes).toMatchObject({
      'gen_ai.provider.name': 'second',
      'gen_ai.request.model': 'large-2026',
      'http.response.status_code': 200,
      ...ending,
      ...usage,
    })
    expect(recorded.spans[2]?.attributes).toMatchObject({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'second',
      'gen_ai.request.model': 'any/model',
      ...ending,
      'gen_ai.conversation.id': 'run-1',
      'http.route': '/v1/chat/completions',
      'http.response.status_code': 200,
      'svc.team': '@acme/core',
      'svc.backend': 'second',
      'svc.attempts': 2,
      'svc.cost_usd': 0.0015,
      ...usage,
    })
  })

  it('contain nothing of what was asked, answered or sent as a credential', async () => {
    await call()
    await ended(3)
    expect(JSON.stringify(recorded.spans)).not.toMatch(/the-question|the-answer|the-error|secret|token"|127\.0\.0\.1/)
  })

  it('are continued by the local worker, and vendors see no id of the trace', async () => {
    await call({ ...BODY, model: 'svc/local' })
    expect(second.last().headers['traceparent']).toBe(SPAN_CONTEXT)
    await call()
    for (const { headers } of [first.last(), second.last()]) expect(headers).not.toHaveProperty('traceparent')
  })

  it.each(['', '/count_tokens'])(
    'are none for a backend that cannot be asked (/vendorb/v1/messages%s)',
    async (path) => {
      const body = { ...BODY, model: 'any/responses', max_tokens: 10, tools: [{ type: 'bash_20250124', name: 'bash' }] }
      expect((await gateway.post(`/vendorb/v1/messages${path}`, body)).status).toBe(path === '' ? 400 : 200)
      await ended(1)
      expect(recorded.spans[0]).toMatchObject({ kind: 'server', attributes: { 'svc.dialect': 'messages' } })
      expect(recorded.running()).toBe(0)
    },
  )

  it('are followed by that of a refused call, which is a plain request', async () => {
    await call({ ...BODY, model: 'no/model' })
    await ended(1)
    expect(recorded.spans[0]).toMatchObject({ kind: 'server', name: 'POST /v1/chat/completions', error: null })
    expect(recorded.spans[0]?.attributes).toMatchObject({ 'http.response.status_code': 403 })
  })

  it('say why there was no answer', async () => {
    first.restart(({ socket }) => void socket.destroy())
    await call()
    await ended(2)
    expect(recorded.spans.map(({ error }) => error)).toEqual(['failed', '502'])
  })

  it.each([
    [400, [null, '400']],
    [500, ['500', '500']],
  ] as const)(
    'fail at an attempt with status %i, and at the call only where the fault is not of the caller',
    async (status, errors) => {
      first.restart(answersJson({ error: { message: 'x' } }, { status }))
      await call({ ...BODY, model: 'any/first' })
      await ended(2)
      const errorOf = (kind: string) => recorded.spans.find((span) => span.kind === kind)?.error
      expect([errorOf('server'), errorOf('client')]).toEqual(errors)
    },
  )

  it('do not exist for health checks', async () => {
    await gateway.get('/healthz')
    await gateway.get('/v1/models')
    await ended(1)
    expect(recorded.spans[0]).toMatchObject({ name: 'GET /v1/models', attributes: { 'http.route': '/v1/models' } })
  })

  it.each([
    ['GET', '/v1/models/an-id?key=a-key', 'GET /v1/models/{id}', '/v1/models/{id}'],
    ['GET', '/an-unknown-path?key=a-key', 'GET', '/REDACTED'],
    ['PROPFIND', '/v1/models', 'HTTP', '/REDACTED'],
  ])('have the attributes that the conventions for HTTP require, for %s %s', async (method, path, name, urlPath) => {
    await gateway.get(path, { method })
    await ended(1)
    const isKnown = method === 'GET'
    expect(recorded.spans[0]).toMatchObject({ kind: 'server', name })
    expect(recorded.spans[0]?.attributes).toMatchObject({
      'http.request.method': isKnown ? 'GET' : '_OTHER',
      'http.request.method_original': isKnown ? null : method,
      'url.path': urlPath,
      'url.scheme': 'http',
    })
    expect(JSON.stringify(recorded.spans)).not.toMatch(/an-id|an-unknown-path|a-key/)
  })
})

describe('the ids of a trace', () => {
  it.each([
    ['all', CALLERS_CONTEXT],
    ['none', undefined],
    ['local', undefined],
  ] as const)('go to a vendor with SVC_TRACE_BACKENDS=%s as: %s', async (tracedBackends, sent) => {
    await using upstream = await startUpstream(answersJson(ANSWER))
    const team = { models: [servedModel('vendora/large')] }
    await using gateway = await startGateway({ vendora: upstream.url, team, tracedBackends })
    const headers = { traceparent: CALLERS_CONTEXT }
    await gateway.post('/v1/chat/completions', { ...BODY, model: 'vendora/large' }, { headers })
    expect(upstream.last().headers['traceparent']).toBe(sent)
  })

  it('do not count as a change of a request that its backend has refused, so it is not sent again', async () => {
    const refusal = { error: { message: "Unknown parameter: 'stream_options'" } }
    await using upstream = await startUpstream(answersJson(refusal, { status: 400 }))
    const team = { models: [servedModel('vendora/large')] }
    await using gateway = await startGateway({ vendora: upstream.url, team, tracedBackends: 'all' })
    const headers = { traceparent: CALLERS_CONTEXT }
    const response = await gateway.post('/v1/chat/completions', { ...BODY, model: 'vendora/large' }, { headers })
    expect([response.status, upstream.calls.length]).toEqual([400, 1])
  })
})

describe('the export of spans', () => {
  const config: TracingConfig = {
    sampler: 'parentbased_always_on',
    ratio: 1,
    timeoutMs: 300,
    delayMs: 20,
    maxWaiting: 100,
  }
  const lines: { readonly fields: object; readonly event: string }[] = []
  const note = (fields: object, event: string) => void lines.push({ fields, event })
  const log = { debug: note, info: note, warn: note, error: note }

  beforeEach(() => {
    lines.length = 0
    return () => vi.unstubAllEnvs()
  })

  function open(endpoint: string, given = config) {
    vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', endpoint)
    vi.stubEnv('OTEL_EXPORTER_OTLP_HEADERS', 'x-key=of-the-collector')
    vi.stubEnv('OTEL_SERVICE_NAME', 'our-gateway')
    vi.stubEnv('OTEL_RESOURCE_ATTRIBUTES', 'deployment.environment.name=staging')
    return openOtlpTracing(given, log)
  }

  it('sends them to the endpoint of the standard variables, and the last ones at the stop', async () => {
    await using collector = await startUpstream(({ res }) => void res.writeHead(200).end())
    const { tracer, close } = open(collector.url.href)
    const span = tracer.startServerSpan({ name: 'chat m', attributes: { one: 1, none: null } }, {})
    const attempt = span.startClientSpan({ name: 'attempt', attributes: {} })
    expect(attempt.headers).toEqual(['traceparent', expect.stringMatching(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/)])
    attempt.end()
    span.end()
    await expect.poll(() => collector.calls.length).toBe(1)
    expect(collector.last()).toMatchObject({ url: '/v1/traces', headers: { 'x-key': 'of-the-collector' } })
    const text = collector.last().body.toString('latin1')
    for (const part of ['chat m', 'attempt', 'our-gateway', 'staging', 'service.version']) expect(text).toContain(part)

    tracer.startServerSpan({ name: 'the last', attributes: {} }, {}).end()
    await close()
    expect(collector.last().body.toString('latin1')).toContain('the last')
    expect(lines).toEqual([])
  })

  it('keeps the decision of the caller not to record its trace', async () => {
    await using collector = await startUpstream(({ res }) => void res.writeHead(200).end())
    const { tracer, close } = open(collector.url.href)
    const unsampled = CALLERS_CONTEXT.replace(/01$/, '00')
    const span = tracer.startServerSpan({ name: 'one', attributes: {} }, { traceparent: unsampled })
    const { headers } = span.startClientSpan({ name: 'two', attributes: {} })
    expect(headers[1]).toMatch(/^00-4bf92f3577b34da6a3ce929d0e0e4736-[0-9a-f]{16}-00$/)
    span.end()
    await close()
    expect(collector.calls).toHaveLength(0)
  })

  it('says once that the endpoint is unavailable, and again when it is back', async () => {
    const port = await freePort()
    const { tracer, close } = open(`http://127.0.0.1:${port}`)
    const send = () => tracer.startServerSpan({ name: 'one', attributes: {} }, {}).end()
    send()
    await expect.poll(() => lines).toEqual([{ event: 'traces.disconnected', fields: { reason: 'ECONNREFUSED' } }])
    send()
    await close()
    expect(lines).toHaveLength(1)
  })

  it('says that the endpoint has not answered in time', async () => {
    await using collector = await startUpstream(() => undefined)
    const { tracer, close } = open(collector.url.href, { ...config, timeoutMs: 100 })
    tracer.startServerSpan({ name: 'one', attributes: {} }, {}).end()
    await expect.poll(() => lines).toEqual([{ event: 'traces.disconnected', fields: { reason: 'Request timed out' } }])
    await close()
  })

  it('loads nothing of OpenTelemetry at a start where traces are off', async () => {
    const script = `
      import { registerHooks } from 'node:module'
      const loaded = new Set()
      registerHooks({ load(url, context, next) {
        const [, name] = /node_modules\\/(@opentelemetry\\/[\\w-]+)/.exec(url) ?? []
        if (name) loaded.add(name)
        return next(url, context)
      } })
      await import('./src/server/running.ts')
      const off = [...loaded]
      const { openOtlpTracing } = await import('./src/server/telemetry/otlp-tracing.ts')
      openOtlpTracing({ sampler: 'always_off', ratio: 1, timeoutMs: 1, delayMs: 1, maxWaiting: 1 })
      console.log(JSON.stringify({ off, on: loaded.size }))`
    const options = ['--input-type=module', '--eval', script]
    const { stdout } = await promisify(execFile)(process.execPath, options, { cwd: path.join(ROOT) })
    const { off, on } = JSON.parse(stdout) as { off: string[]; on: number }
    expect(off).toEqual([])
    expect(on).toBeGreaterThan(5)
  })
})
