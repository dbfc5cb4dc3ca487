import { describe, expect, it } from 'vitest'
import { toCredential } from '../../src/gateway/backends/upstreams.ts'
import { Secret } from '../../src/kernel/secret.ts'
import { toBackendHeaders, toCallerHeaders } from '../../src/gateway/exchange/headers.ts'
import type { Credential } from '../../src/gateway/exchange/headers.ts'

const OWN = ['content-type', 'application/json', 'accept-encoding', 'identity']

describe('the headers of a request to a backend', () => {
  it.each([
    ['Accept', 'application/json'],
    ['Accept-Language', 'de'],
    ['User-Agent', 'codex_cli_rs/0.169.0'],
    ['anthropic-version', '2023-06-01'],
    ['anthropic-beta', 'a,b'],
    ['anthropic-dangerous-direct-browser-access', 'true'],
    ['OpenAI-Beta', 'responses=v1'],
    ['originator', 'codex_cli_rs'],
    ['session-id', 's1'],
    ['thread-id', 't1'],
    ['x-client-request-id', 'r1'],
    ['x-codex-turn-metadata', '{"a":"b"}'],
    ['x-codex-window-id', 'w'],
    ['x-codex-beta-features', 'f'],
    ['X-Stainless-Timeout', '600'],
    ['x-stainless-retry-count', '0'],
    ['x-claude-code-session-id', 's2'],
    ['x-openai-subagent', 'review'],
    ['idempotency-key', 'i1'],
    ['x-app', 'cli'],
    ['x-session-id', 's3'],
    ['x-session-affinity', 's3'],
  ])('contain %s unchanged', (name, value) => {
    expect(toBackendHeaders([name, value], null)).toEqual([...OWN, name.toLowerCase(), value])
  })

  it('contain no betas for a backend that accepts none', () => {
    const sent = ['Anthropic-Beta', 'a,b', 'anthropic-version', '2023-06-01']
    expect(toBackendHeaders(sent, null, { betas: false })).toEqual([...OWN, 'anthropic-version', '2023-06-01'])
  })

  it.each([
    'Authorization',
    'Cookie',
    'x-api-key',
    'Proxy-Authorization',
    'api-key',
    'X-Forwarded-For',
    'X-Forwarded-Host',
    'Forwarded',
    'X-Real-IP',
    'x-svc-session-id',
    'X-Svc-Use-Cookies',
    'Host',
    'Content-Length',
    'Content-Type',
    'Content-Encoding',
    'Accept-Encoding',
    'Transfer-Encoding',
    'TE',
    'Trailer',
    'Upgrade',
    'Keep-Alive',
    'Connection',
    'Expect',
    'Proxy-Connection',
    'openai-organization',
    'openai-project',
    'chatgpt-account-id',
    'x-openai-actor-authorization',
    'anthropic-api-key',
    'x-codex-access-token',
    'referer',
    'origin',
    'x-unknown',
  ])('do not contain %s of the caller', (name) => {
    expect(toBackendHeaders([name, 'close'], null)).toEqual(OWN)
  })

  it('do not contain a header that Connection names, wherever it stands', () => {
    const sent = ['X-Codex-Hop', '1', 'Connection', 'keep-alive, X-Codex-Hop', 'x-app', 'cli']
    expect(toBackendHeaders(sent, null)).toEqual([...OWN, 'x-app', 'cli'])
  })

  it('contain what the gateway sends itself, whatever Connection names', () => {
    const sent = ['Connection', 'authorization, accept-encoding, x-api-key']
    expect(toBackendHeaders(sent, { as: 'bearer', secret: new Secret('b') })).toEqual([
      'authorization',
      'Bearer b',
      ...OWN,
    ])
  })

  it.each<[string, Credential | null, string[]]>([
    ['a bearer token', { as: 'bearer', secret: new Secret('up') }, ['authorization', 'Bearer up']],
    ['an API key', { as: 'x-api-key', secret: new Secret('key') }, ['x-api-key', 'key']],
    ['none', null, []],
  ])("contain the backend's credential instead of the caller's: %s", (_name, credential, expected) => {
    const sent = ['authorization', 'Bearer mine', 'x-api-key', 'mine', 'cookie', 'svc_access=mine']
    expect(toBackendHeaders(sent, credential)).toEqual([...expected, ...OWN])
  })
})

describe('the credential of an upstream', () => {
  const [bearer, apiKey] = [new Secret('up'), new Secret('key')]

  it.each<[string, Secret | null, Secret | null, Credential | null]>([
    ['is the bearer token', bearer, null, { as: 'bearer', secret: bearer }],
    ['is the API key', null, apiKey, { as: 'x-api-key', secret: apiKey }],
    ['is the API key alone where both are configured', bearer, apiKey, { as: 'x-api-key', secret: apiKey }],
    ['is null where none is configured', null, null, null],
  ])('%s', (_name, bearer, apiKey, expected) => {
    const settings = { url: new URL('https://b.example'), bearer, apiKey }
    const credential = toCredential(settings)
    expect(credential?.as).toBe(expected?.as)
    expect(credential?.secret).toBe(expected?.secret)
  })
})

describe('the headers of an answer to the caller', () => {
  const res = { getHeader: (name: string) => (name === 'x-request-id' ? 'req_ours' : undefined) }

  it.each([
    ['content-type', 'text/event-stream; charset=utf-8'],
    ['content-encoding', 'gzip'],
    ['retry-after', '7'],
    ['retry-after-ms', '700'],
    ['x-should-retry', 'true'],
    ['x-ratelimit-remaining-tokens', '5'],
    ['anthropic-ratelimit-requests-limit', '5'],
    ['anthropic-ratelimit-unified-status', 'allowed'],
    ['anthropic-priority-input-tokens-limit', '5'],
    ['anthropic-fast-output-tokens-remaining', '5'],
    ['openai-model', 'm'],
    ['openai-processing-ms', '12'],
    ['openai-version', '2020-10-01'],
    ['x-codex-primary-used-percent', '3'],
    ['cache-control', 'no-cache'],
  ])('contain %s unchanged', (name, value) => {
    expect(toCallerHeaders({ [name]: value }, res)).toEqual({ [name]: value })
  })

  it.each([
    'set-cookie',
    'server',
    'via',
    'date',
    'content-length',
    'transfer-encoding',
    'connection',
    'keep-alive',
    'strict-transport-security',
    'alt-svc',
    'access-control-allow-origin',
    'content-security-policy',
    'location',
    'www-authenticate',
    'x-svc-served-by',
    'x-svc-request-id',
    'cf-ray',
    'openai-organization',
    'openai-project',
    'anthropic-organization-id',
    'anthropic-workspace-id',
  ])('do not contain %s of the backend', (name) => {
    expect(toCallerHeaders({ [name]: name === 'set-cookie' ? ['a=b'] : 'x' }, res)).toEqual({})
  })

  it("contain the backend's own request id unchanged, and ours beside it", () => {
    expect(toCallerHeaders({ 'request-id': 'req_theirs' }, res)).toEqual({
      'request-id': 'req_theirs',
      'x-svc-request-id': 'req_ours',
    })
  })

  it('contain a repeated header as often as it came', () => {
    expect(toCallerHeaders({ 'x-ratelimit-note': ['a', 'b'] }, res)).toEqual({ 'x-ratelimit-note': ['a', 'b'] })
  })
})
