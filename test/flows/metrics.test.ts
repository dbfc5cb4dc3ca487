import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readConfig } from '../../src/config.ts'
import { AddressError } from '../../src/server/listener.ts'
import { serve } from '../../src/server/serve.ts'
import { countEvents, serveMetrics } from '../../src/server/telemetry/metrics.ts'
import { testClock } from '../support/clock.ts'
import { recordingLog } from '../support/recording-log.ts'
import type { LogLine } from '../support/recording-log.ts'
import { newFolder } from '../support/process.ts'
import { bearerOf, json } from '../support/requests.ts'
import { readAlertRules } from '../support/source/alert-rules.ts'
import { readPage } from '../support/source/documents.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'
import { answersJson, startUpstream, streams } from '../support/upstream.ts'
import type { TestUpstream } from '../support/upstream.ts'
import { waitForValue, waitUntil } from '../support/wait.ts'

const completion = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'large-2026',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello!', refusal: null }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 12, completion_tokens: 3, total_tokens: 15, prompt_tokens_details: { cached_tokens: 8 } },
}

/** The log events that queries of the alerts and of the dashboard name. */
function watchedEvents(): string[] {
  const queries = [...readAlertRules().map(({ expr }) => expr), readPage('docs/grafana-dashboard.json').text]
  const named = queries.flatMap((query) => [...query.matchAll(/svc_events_total\{event=~?\\?"([^"\\]+)/g)])
  return named.flatMap(([, events = '']) => events.split('|'))
}

it('say of a fault that is logged once whether it lasts', async () => {
  const { log, eventMetrics } = countEvents(recordingLog([]))
  const sampleOf = async () =>
    /^svc_ongoing_faults\{event="database.disconnected"\} (\d)$/m.exec(await eventMetrics.metrics())?.[1]
  expect(await sampleOf()).toBe('0')
  log.warn({}, 'database.disconnected')
  log.info({}, 'redis.connected')
  expect(await sampleOf()).toBe('1')
  log.info({}, 'database.reconnected')
  expect(await sampleOf()).toBe('0')
})

describe('the metrics', () => {
  let upstream: TestUpstream
  let service: TestService
  let headers: Record<string, string>

  beforeAll(async () => {
    upstream = await startUpstream(answersJson(completion))
    service = await startService({ env: { SVC_METRICS_PORT: '0', SVC_VENDORA_UPSTREAM_URL: upstream.url.href } })
    headers = bearerOf((await service.signIn('ada@example.com')).accessToken)
  })
  afterAll(async () => {
    await service[Symbol.asyncDispose]()
    await upstream[Symbol.asyncDispose]()
  })

  const call = () =>
    service.fetch(
      '/v1/chat/completions',
      json({ model: 'vendora/large', messages: [{ role: 'user', content: 'Hi' }] }, headers),
    )
  const at = (path: string) => fetch(`http://127.0.0.1:${service.metricsPort}${path}`)
  const valueOf = async (sample: string) => {
    const line = (await (await at('/metrics')).text()).split('\n').find((each) => each.startsWith(`${sample} `))
    return line === undefined ? null : Number(line.slice(sample.length))
  }

  it('are served only on their own listener', async () => {
    expect((await at('/metrics')).headers.get('content-type')).toMatch(/^text\/plain/)
    expect((await at('/')).status).toBe(404)
    expect((await service.fetch('/metrics')).status).toBe(404)
  })

  it('show 0 for what alerts and the dashboard watch, because a series that appears with 1 has not risen', async () => {
    const text = (await (await at('/metrics')).text()).split('\n')
    const events = watchedEvents().map((event) => `svc_events_total{event="${event}"} 0`)
    const others = [
      'svc_lost_call_events_total{reason="refused"} 0',
      'svc_lost_call_events_total{reason="dropped"} 0',
      'svc_spending_refusals_total{reason="used_up"} 0',
      'svc_spending_refusals_total{reason="reserved"} 0',
    ]
    expect(events.length).toBeGreaterThan(10)
    expect([...events, ...others].filter((sample) => !text.includes(sample))).toEqual([])
  })

  it('count calls by outcome, and their tokens', async () => {
    await (await call()).text()
    const calls = 'svc_calls_total{served_by="vendora",dialect="chat",outcome="whole",status="200"}'
    await waitForValue('the count of calls', () => valueOf(calls), 1)
    expect(
      await valueOf('svc_tokens_total{team="@acme/core",model="vendora/large",served_by="vendora",kind="input"}'),
    ).toBe(4)
    expect(
      await valueOf('svc_tokens_total{team="@acme/core",model="vendora/large",served_by="vendora",kind="output"}'),
    ).toBe(3)
    expect(
      await valueOf('svc_tokens_total{team="@acme/core",model="vendora/large",served_by="vendora",kind="cache_read"}'),
    ).toBe(8)
    expect(await valueOf('svc_call_seconds_count{served_by="vendora"}')).toBe(1)
  })

  it('count requests by the route of the contract, and unknown paths together', async () => {
    for (const path of ['/v1/workers/local-engine', '/v1/workers/other', '/made-up', '/made/up/too'])
      await service.fetch(path, { headers })
    const requests = (method: string, route: string, status: number) =>
      valueOf(`svc_http_request_seconds_count{method="${method}",route="${route}",status="${status}"}`)
    await waitForValue('the count of requests', () => requests('GET', '/v1/workers/{id}', 200), 1)
    expect(await requests('GET', '/v1/workers/{id}', 404)).toBe(1)
    const unknown = () => requests('GET', 'unknown', 404)
    await waitUntil('the count of unknown paths', unknown, (count) => count !== null && count >= 2)
    expect(await (await at('/metrics')).text()).not.toContain('made')
  })

  it('count the open streams', async () => {
    upstream.restart(streams(['data: {"choices":[]}\n\n'], { end: 'stalls' }))
    const leaving = new AbortController()
    const body = { model: 'vendora/large', messages: [{ role: 'user', content: 'Hi' }], stream: true }
    // Not through `service.fetch`: a `Request` of its own can lose the signal when it is garbage collected.
    await fetch(`${service.origin}/v1/chat/completions`, { ...json(body, headers), signal: leaving.signal })
    expect(await valueOf('svc_open_streams')).toBe(1)
    leaving.abort()
    await waitForValue('the count of open streams', () => valueOf('svc_open_streams'), 0)
  })

  it('count the log events of logins', async () => {
    expect(await valueOf('svc_events_total{event="device_login.approved"}')).toBe(1)
  })

  it('contain no email address and no IP address, and teams only where tokens, cost and attempts are counted', async () => {
    const text = await (await at('/metrics')).text()
    expect(text).not.toMatch(/\bada\b|example\.com|127\.0\.0\.1/)
    const ofTeams = text.split('\n').filter((line) => line.includes('@acme'))
    expect(ofTeams.filter((line) => !/^svc_(tokens_total|cost_usd_total|call_attempts_total)\{/.test(line))).toEqual([])
  })
})

describe('the log events of a whole process', () => {
  it('count from the opening of the database on, also those of its files', async () => {
    await using folder = await newFolder()
    const [database, file] = [path.join(folder.path, 'db'), path.join(folder.path, 'directory.yaml')]
    await mkdir(database, { mode: 0o755 })
    await writeFile(file, 'organizations: []')
    const config = readConfig({
      SVC_PORT: '0',
      SVC_METRICS_PORT: '0',
      SVC_DATABASE_URL: `embedded:${database}`,
      SVC_DIRECTORY_FILE: file,
    })
    const running = await serve(config, { clock: testClock(), log: recordingLog([]) })
    try {
      await writeFile(file, 'organizations: 7')
      await expect(running.reload()).rejects.toThrow('must be a list')
      const text = await (await fetch(`http://127.0.0.1:${running.metricsPort}/metrics`)).text()
      expect(text).toContain('svc_events_total{event="files.made_private"} 1')
      expect(text).toContain('svc_events_total{event="directory.rejected"} 1')
    } finally {
      await running.stop()
    }
  })
})

describe('the metrics port', () => {
  it('that is in use makes the start fail with the name of the setting', async () => {
    await using upstream = await startUpstream()
    const config = readConfig({
      SVC_ROLE: 'gateway',
      SVC_PORT: '0',
      SVC_METRICS_PORT: upstream.url.port,
      SVC_GATEWAY_KEYS_FILE: '/dev/null/keys.json',
    })
    const note = () => undefined
    const log = { debug: note, info: note, warn: note, error: note, showLink: note, close: async () => true }
    const start = serve(config, { clock: testClock(), log })
    await expect(start).rejects.toThrow(AddressError)
    await expect(start).rejects.toThrow(/SVC_METRICS_PORT/)
  })

  it('answers 500 when the metrics cannot be collected, and logs why', async () => {
    const lines: LogLine[] = []
    const err = new Error('A collector has failed.')
    const registry = { metrics: () => Promise.reject(err), contentType: 'text/plain' }
    const listener = await serveMetrics(registry, '127.0.0.1', 0, recordingLog(lines))
    expect((await fetch(`http://127.0.0.1:${listener.port}/metrics`)).status).toBe(500)
    expect(lines).toEqual([{ level: 'error', event: 'metrics.failed', fields: { err } }])
    await listener.close()
  })
})
