import { describe, expect, it } from 'vitest'
import { Secret } from '../../src/kernel/secret.ts'
import { toCallerHeaders, toUpstreamHeaders } from '../../src/gateway/upstream/headers.ts'

const NO_CREDENTIAL = { bearer: null, apiKey: null }
const OWN = ['accept-encoding', 'identity']

describe('headers to an upstream', () => {
  it.each([
    ['Accept', 'application/json'],
    ['Accept-Language', 'de'],
    ['Content-Type', 'application/json'],
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
    ['x-app', 'cli'],
    ['x-session-id', 's3'],
    ['x-session-affinity', 's3'],
  ])('%s crosses unchanged', (name, value) => {
    expect(toUpstreamHeaders([name, value], NO_CREDENTIAL)).toEqual([...OWN, name.toLowerCase(), value])
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
    'referer',
    'origin',
    'x-nobody-thought-of-this',
  ])('%s stays home', (name) => {
    expect(toUpstreamHeaders([name, 'close'], NO_CREDENTIAL)).toEqual(OWN)
  })

  it('a header that Connection names stays home, whatever the order', () => {
    const sent = ['X-Codex-Hop', '1', 'Connection', 'keep-alive, X-Codex-Hop', 'x-app', 'cli']
    expect(toUpstreamHeaders(sent, NO_CREDENTIAL)).toEqual([...OWN, 'x-app', 'cli'])
  })

  it('Connection cannot take away what the gateway sends itself', () => {
    const sent = ['Connection', 'authorization, accept-encoding, x-api-key']
    expect(toUpstreamHeaders(sent, { bearer: new Secret('b'), apiKey: null })).toEqual([
      'authorization',
      'Bearer b',
      ...OWN,
    ])
  })

  it.each([
    ['a bearer', { bearer: new Secret('up'), apiKey: null }, ['authorization', 'Bearer up']],
    ['a key', { bearer: null, apiKey: new Secret('key') }, ['x-api-key', 'key']],
    [
      'a key alone, where both are configured',
      { bearer: new Secret('up'), apiKey: new Secret('key') },
      ['x-api-key', 'key'],
    ],
    ['nothing', NO_CREDENTIAL, []],
  ])("the target's credential replaces the caller's: %s", (_name, target, expected) => {
    const sent = ['authorization', 'Bearer mine', 'x-api-key', 'mine', 'cookie', 'svc_access=mine']
    expect(toUpstreamHeaders(sent, target)).toEqual([...expected, ...OWN])
  })
})

describe('headers back to the caller', () => {
  const res = { getHeader: (name: string) => (name === 'x-request-id' ? 'req_ours' : undefined) }

  it.each([
    ['content-type', 'text/event-stream; charset=utf-8'],
    ['content-encoding', 'gzip'],
    ['retry-after', '7'],
    ['retry-after-ms', '700'],
    ['x-should-retry', 'true'],
    ['x-ratelimit-remaining-tokens', '5'],
    ['anthropic-ratelimit-requests-limit', '5'],
    ['anthropic-organization-id', 'o'],
    ['openai-processing-ms', '12'],
    ['openai-version', '2020-10-01'],
    ['x-codex-primary-used-percent', '3'],
    ['cache-control', 'no-cache'],
  ])('%s crosses unchanged', (name, value) => {
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
  ])('%s stays with the upstream', (name) => {
    expect(toCallerHeaders({ [name]: name === 'set-cookie' ? ['a=b'] : 'x' }, res)).toEqual({})
  })

  it("an upstream's own request id is shown as it came, and ours beside it", () => {
    expect(toCallerHeaders({ 'request-id': 'req_theirs' }, res)).toEqual({
      'request-id': 'req_theirs',
      'x-svc-request-id': 'req_ours',
    })
  })

  it('a repeated header stays repeated', () => {
    expect(toCallerHeaders({ 'anthropic-note': ['a', 'b'] }, res)).toEqual({ 'anthropic-note': ['a', 'b'] })
  })
})
