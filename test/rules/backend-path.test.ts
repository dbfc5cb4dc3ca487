import { createServer } from 'node:http'
import type { LookupFunction } from 'node:net'
import { describe, expect, it } from 'vitest'
import { addressRequest } from '../../src/gateway/backends/addressing.ts'
import { makeConnectProbe, openBackendPool } from '../../src/gateway/backends/backend.ts'
import { makeSharedLookup } from '../../src/gateway/backends/shared-lookup.ts'
import { toDialectPath, upstreamOf } from '../../src/gateway/backends/table.ts'
import type { GroupedPath } from '../../src/gateway/backends/table.ts'
import { closeHttpServer, listenOnLoopback } from '../support/loopback.ts'

const CONNECTING = { connectTimeoutMs: 2000, idleTimeoutMs: 2000, lookup: makeSharedLookup(), outboundProxy: null }

const ASKED = { model: 'large', wantsStream: false }

function pathAt(apiPath: string, path: GroupedPath, callerUrl: string | null): string {
  return addressRequest({ apiPath }, ASKED, { path: toDialectPath(path), callerUrl, body: Buffer.from('{}') }).path
}

describe('the path of a call at its backend', () => {
  it.each<[string, GroupedPath, string, string]>([
    // the backend's URL, the path of the contract, the caller's URL, the path at the backend
    ['https://a.example', '/v1/chat/completions', '/v1/chat/completions', '/v1/chat/completions'],
    ['https://a.example/', '/v1/responses', '/v1/responses', '/v1/responses'],
    ['https://a.example/proxy', '/v1/responses', '/v1/responses', '/proxy/v1/responses'],
    ['https://a.example/proxy/', '/v1/responses', '/v1/responses', '/proxy/v1/responses'],
    ['https://a.example/a/b//', '/v1/responses', '/v1/responses', '/a/b/v1/responses'],
    ['https://b.example', '/vendorb/v1/messages', '/vendorb/v1/messages', '/v1/messages'],
    ['https://b.example', '/vendorb/v1/messages', '/vendorb/v1/messages?beta=true', '/v1/messages?beta=true'],
    ['https://b.example/api', '/v1/messages', '/v1/messages?beta=true', '/api/v1/messages?beta=true'],
    ['https://b.example', '/v1/messages/count_tokens', '/v1/messages/count_tokens', '/v1/messages/count_tokens'],
    [
      'https://b.example/api',
      '/vendorb/v1/messages',
      '/vendorb/v1/messages?a=1&a=%2F&b=',
      '/api/v1/messages?a=1&a=%2F&b=',
    ],
    ['https://c.example', '/codex/v1/responses', '/codex/v1/responses', '/v1/responses'],
    [
      'https://c.example/backend-api/codex',
      '/codex/v1/responses',
      '/codex/v1/responses?x',
      '/backend-api/codex/v1/responses?x',
    ],
    ['https://c.example', '/codex/v1/responses', '/codex/v1/responses?q=a?b', '/v1/responses?q=a?b'],
  ])('%s with %s asked as %s becomes %s', async (url, path, callerUrl, expected) => {
    const { apiPath, pool } = openBackendPool(new URL(url), CONNECTING)
    expect(pathAt(apiPath, path, callerUrl)).toBe(expected)
    await pool.destroy()
  })

  it.each([
    ['absolute form', 'http://evil.example/v1/admin?x=1', '/v1/responses?x=1'],
    ['dots', '/v1/../v1/admin', '/v1/responses'],
    ['a slash at the end', '/v1/responses/', '/v1/responses'],
    ['a query that looks like a path', '/v1/responses?/../../admin', '/v1/responses?/../../admin'],
  ])('is the same for every spelling of the URL: %s', (_name, callerUrl, expected) => {
    expect(pathAt('/v1', '/v1/responses', callerUrl)).toBe(expected)
  })

  it.each<[string, string, GroupedPath, string]>([
    ['https://a.example', '/v1beta/openai', '/v1/chat/completions', '/v1beta/openai/chat/completions'],
    ['https://a.example/api', '/paas/v4', '/v1/embeddings', '/api/paas/v4/embeddings'],
    ['https://a.example/api/', '/v3', '/codex/v1/responses', '/api/v3/responses'],
    ['https://a.example', '', '/vendorb/v1/messages/count_tokens', '/messages/count_tokens'],
  ])('%s with the base path "%s" asked as %s becomes %s', async (url, basePath, path, expected) => {
    const { apiPath, pool } = openBackendPool(new URL(url), CONNECTING, basePath)
    expect(pathAt(apiPath, path, path)).toBe(expected)
    await pool.destroy()
  })

  it('has no query where nothing of the caller goes along', () => {
    expect(pathAt('/v1', '/v1/responses', null)).toBe('/v1/responses')
  })

  it.each<[GroupedPath, string]>([
    ['/v1/chat/completions', 'vendora'],
    ['/vendorb/v1/messages', 'vendorb'],
    ['/v1/messages', 'vendorb'],
    ['/v1/messages/count_tokens', 'vendorb'],
    ['/v1/messages_of_another_kind', 'vendora'],
    ['/codex/v1/responses', 'vendorc'],
  ])('%s goes to the upstream %s', (path, upstream) => {
    expect(upstreamOf(path)).toBe(upstream)
  })

  it('of no route group throws', () => {
    expect(() => upstreamOf('/v2/chat' as GroupedPath)).toThrow('/v2/chat')
  })
})

describe('a request to a Claude model at Vertex AI', () => {
  const apiPath = '/v1/projects/p/locations/eu/publishers/anthropic/models'
  const body = Buffer.from('{ "model":"large", "max_tokens":1e2 }')
  const addressed = (path: string, asked: { model: string; wantsStream: boolean }) => {
    const made = addressRequest({ apiPath }, asked, { path, callerUrl: '/vendorb/v1/messages?beta=true', body })
    return [made.path, made.body.toString()]
  }

  it.each([
    ['large', false, '/large:rawPredict'],
    ['large', true, '/large:streamRawPredict'],
    ['claude-9@20260101', true, '/claude-9@20260101:streamRawPredict'],
    ['../../gemini:generate?x#y', false, '/..%2F..%2Fgemini%3Agenerate%3Fx%23y:rawPredict'],
  ])('names the model %s in its path (stream: %s), and not in its body', (model, wantsStream, path) => {
    expect(addressed('/messages', { model, wantsStream })).toEqual([
      apiPath + path,
      '{"anthropic_version":"vertex-2023-10-16", "max_tokens":1e2 }',
    ])
  })

  it('names the model in its body where it only counts tokens', () => {
    expect(addressed('/messages/count_tokens', ASKED)).toEqual([
      `${apiPath}/count-tokens:rawPredict`,
      '{"anthropic_version":"vertex-2023-10-16", "model":"large", "max_tokens":1e2 }',
    ])
  })
})

it('a connection probe says whether the address of a backend accepts connections', async () => {
  const server = createServer()
  const port = await listenOnLoopback(server)
  const canConnect = makeConnectProbe(new URL(`http://127.0.0.1:${port}`), CONNECTING)
  expect(await canConnect()).toBe(true)
  await closeHttpServer(server)
  expect(await canConnect()).toBe(false)
})

it('a connection probe does not look up an IPv6 address, which a URL has in brackets', async () => {
  const lookedUp: string[] = []
  const lookup: LookupFunction = (hostname, _options, callback) => {
    lookedUp.push(hostname)
    callback(new Error('There is no such host.'), [])
  }
  await makeConnectProbe(new URL('http://[::1]:9'), { ...CONNECTING, lookup })()
  expect(lookedUp).toEqual([])
})
