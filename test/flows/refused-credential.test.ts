import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startGateway } from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'
import { outcomeOf } from '../support/requests.ts'
import { serveEntry, servedModel } from '../support/served-models.ts'
import { answersJson, startUpstream, streams } from '../support/upstream.ts'
import type { Script, TestUpstream } from '../support/upstream.ts'

/** The credential of the gateway at its upstreams (test/support/gateway.ts), repeated as vendors do. */
const ECHOED = 'Incorrect API key provided: upstream-token. It belongs to org-hush.'
const ORGANIZATION = {
  'openai-organization': 'org-hush',
  'openai-project': 'proj-hush',
  'anthropic-organization-id': 'org-hush',
  'request-id': 'req_up',
}

const CALLS = [
  { path: '/v1/chat/completions', body: { messages: [{ role: 'user', content: 'hi' }] } },
  { path: '/v1/completions', body: { prompt: 'hi' } },
  { path: '/v1/embeddings', body: { input: 'hi' } },
  { path: '/v1/responses', body: { input: 'hi' } },
  { path: '/v1/responses/input_tokens', body: { input: 'hi' } },
  { path: '/v1/responses/compact', body: { input: 'hi' } },
  { path: '/codex/v1/responses', body: { input: [{ type: 'message', role: 'user', content: 'hi' }] } },
  { path: '/vendorb/v1/messages', body: { max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] } },
  { path: '/vendorb/v1/messages/count_tokens', body: { messages: [{ role: 'user', content: 'hi' }] } },
] as const

/** Served by an upstream that does not speak messages. */
const TRANSLATED = servedModel('v/translated', { serve: [serveEntry('vendora', 'large')] })

let upstream: TestUpstream
let gateway: TestGateway

beforeAll(async () => {
  upstream = await startUpstream()
  const { url } = upstream
  const team = { defaultModel: 'v/large', models: [servedModel('v/large'), TRANSLATED] }
  gateway = await startGateway({ team, vendora: url, vendorb: url, vendorc: url })
})
beforeEach(() => void gateway.log.splice(0))
afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  await upstream[Symbol.asyncDispose]()
})

async function expectRefused(res: Response, status: number): Promise<void> {
  expect(await outcomeOf(res)).toBe('502 upstream_refused_credential')
  const seen = `${JSON.stringify([...res.headers])} ${await res.text()} ${JSON.stringify(gateway.log)}`
  expect(seen).not.toMatch(/hush|upstream-token|Incorrect|req_up/)
  const warned = gateway.log.filter(({ event }) => event === 'call.credential_refused')
  expect(warned).toMatchObject([{ fields: { status, model: 'v/large' } }])
}

describe.each(CALLS)('an upstream of POST $path that refuses the credential of the service', ({ path, body }) => {
  it.each([401, 403])('with status %i causes 502, and nothing of its answer crosses', async (status) => {
    const error = { type: 'error', error: { type: 'authentication_error', message: ECHOED } }
    upstream.restart(answersJson(error, { status, headers: ORGANIZATION }))
    await expectRefused(await gateway.post(path, body), status)
    gateway.log.splice(0)
    await expectRefused(await gateway.post(path, { ...body, stream: true }), status)
  })
})

const [{ path, body }] = CALLS

/** Cut in the middle of the credential. */
function halves(event: string): [string, string] {
  const at = event.indexOf('token')
  return [event.slice(0, at), event.slice(at)]
}

function answers(status: number, type: string, text: string | Buffer, headers: Record<string, string> = {}): Script {
  return ({ res }) => void res.writeHead(status, { 'content-type': type, ...ORGANIZATION, ...headers }).end(text)
}

describe('an error that shows the headers of the request', () => {
  const shown = { error: { message: 'Cannot read this: authorization: Bearer upstream-token. Say it again.' } }

  it.each([400, 404, 500])('with status %i does not show the credential of the service', async (status) => {
    upstream.restart(answersJson(shown, { status }))
    const res = await gateway.post(path, body)
    const text = await res.text()
    expect([res.status, text]).toEqual([status, expect.stringContaining('Say it again.')])
    expect(text).not.toContain('upstream-token')
  })

  it.each([
    ['in an answer of 200', answersJson(shown), 502],
    ['as the first event of a stream', streams([`data: ${JSON.stringify(shown)}\n\n`]), 200],
    ['as an event in two parts', streams([...halves(`data: ${JSON.stringify(shown)}\n\n`)]), 200],
  ])('%s does not show it either, in the dialect of the upstream and in another', async (_name, script, status) => {
    upstream.restart(script)
    for (const [target, expected] of [
      [{ path, body }, status],
      [{ path: '/v1/messages', body: { ...body, model: TRANSLATED.id, max_tokens: 9 } }, 502],
    ] as const) {
      const res = await gateway.post(target.path, { ...target.body, stream: status === 200 })
      const text = await res.text()
      expect([res.status, text]).toEqual([expected, expect.stringContaining('Say it again.')])
      expect(text).not.toContain('upstream-token')
    }
  })

  it('with a redirect is not shown at all', async () => {
    upstream.restart(answersJson(shown, { status: 302 }))
    const res = await gateway.post(path, body)
    expect([res.status, await res.text()]).toEqual([502, expect.not.stringContaining('Say it again.')])
  })

  it('in more bytes than the gateway holds does not show it either', async () => {
    const text = shown.error.message + 'x'.repeat(2 * 1024 * 1024)
    upstream.restart(answers(500, 'text/plain', text))
    const answer = await gateway.post(path, body).then((res) => res.text())
    expect(answer).toBe(text.replace('upstream-token', '*'.repeat('upstream-token'.length)))
  })
})

describe('a refusal of the credential of the service', () => {
  it.each<[string, number, Script]>([
    ['as a stream of events', 401, answers(401, 'text/event-stream', `data: ${ECHOED}\n\n`)],
    ['as a page', 401, answers(401, 'text/html', `<h1>${ECHOED}</h1>`)],
    ['of a proxy on the way', 407, answers(407, 'text/html', ECHOED)],
    ['in more bytes than the gateway holds', 401, answers(401, 'text/plain', ECHOED.repeat(40_000))],
    ['in a compressed body', 403, answers(403, 'application/json', gzipSync(ECHOED), { 'content-encoding': 'gzip' })],
    ['that names missing scopes', 403, answersJson({ error: { message: 'Missing scopes: a.b' } }, { status: 403 })],
    ['with status 400', 400, answersJson([{ error: { message: 'API key not valid.' } }], { status: 400 })],
  ])('%s never crosses', async (_name, status, script) => {
    upstream.restart(script)
    await expectRefused(await gateway.post(path, body), status)
  })

  it.each([
    [403, { error: { type: 'request_forbidden', message: 'Your region is not supported.' } }],
    [403, { error: { type: 'invalid_request_error', code: 'model_not_found', message: 'No access to this model.' } }],
    [400, { error: { type: 'invalid_request_error', message: 'messages.0: "Invalid api key" is not a role.' } }],
  ])('is told apart from another error with status %i, which crosses unchanged', async (status, error) => {
    upstream.restart(answersJson(error, { status }))
    const res = await gateway.post(path, body)
    expect([res.status, await res.json()]).toEqual([status, error])
  })
})
