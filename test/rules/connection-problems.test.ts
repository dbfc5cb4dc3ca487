import { afterEach, describe, expect, it, vi } from 'vitest'
import { explainConnection } from '../../src/cli/deployment/connection-problems.ts'
import { sendRequest } from '../../src/cli/deployment/http.ts'
import { findProxyVariable } from '../../src/kernel/network/outbound-proxy.ts'

const url = new URL('https://svc.example.com/v1/models')

const CHECK = 'Check the URL and your network or VPN.'

/** What `fetch` throws: the reason is the cause, or one of several for the addresses of a name. */
const thrown = (code: string) => new TypeError('fetch failed', { cause: Object.assign(new Error(code), { code }) })
const thrownForEach = (code: string) => {
  const each = Object.assign(new Error(code), { code })
  return new TypeError('fetch failed', { cause: new AggregateError([each, each]) })
}

describe('a request without an answer is explained', () => {
  it.each([
    ['ECONNREFUSED', 'Nothing listens at svc.example.com. Check the URL, or start the service.'],
    ['ENOTFOUND', `There is no host named svc.example.com. ${CHECK}`],
    ['EAI_AGAIN', `The name svc.example.com cannot be looked up now. ${CHECK}`],
    ['ENETUNREACH', `svc.example.com cannot be reached from this network. ${CHECK}`],
    [
      'ECONNRESET',
      'svc.example.com closed the connection. Try again; if it stays like this, check whether its URL begins with ' +
        'http or https.',
    ],
    ['UND_ERR_CONNECT_TIMEOUT', `svc.example.com does not answer. ${CHECK}`],
    ['CERT_HAS_EXPIRED', 'The TLS certificate of svc.example.com has expired, or the clock of this machine is wrong.'],
    [
      'CERT_NOT_YET_VALID',
      'The TLS certificate of svc.example.com is not valid yet: the clock of this machine is wrong.',
    ],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'The TLS certificate of svc.example.com is for another name. Check the URL.'],
    [
      'SELF_SIGNED_CERT_IN_CHAIN',
      'The TLS certificate of svc.example.com is not trusted here. If your company signs its own certificates, set ' +
        'NODE_EXTRA_CA_CERTS to the file of its root certificate.',
    ],
    [
      'ERR_SSL_WRONG_VERSION_NUMBER',
      'svc.example.com does not speak TLS. Try the URL with http:// instead of https://.',
    ],
    ['ESOMETHING', `https://svc.example.com cannot be reached (ESOMETHING). ${CHECK}`],
  ])('%s', (code, sentence) => {
    expect(explainConnection(url, thrown(code))).toBe(sentence)
    expect(explainConnection(url, thrownForEach(code))).toBe(sentence)
  })

  it.each([
    ['407', 'it requires a user name and a password'],
    ['403', 'it does not connect to this host'],
  ])('when the proxy of the environment answered %s', (status, why) => {
    const refused = new Error(`Proxy response (${status}) !== 200 when HTTP Tunneling`)
    expect(explainConnection(url, new TypeError('fetch failed', { cause: refused }), 'HTTPS_PROXY')).toBe(
      `The proxy of your environment answered ${status} for svc.example.com: ${why}. Correct HTTPS_PROXY, or add the ` +
        'host to NO_PROXY.',
    )
  })

  it.each([
    ['nothing listens', { code: 'ECONNREFUSED', address: '127.0.0.1', port: 3128 }, '127.0.0.1, port 3128'],
    ['its name is unknown', { code: 'ENOTFOUND', hostname: 'proxy.invalid' }, 'proxy.invalid'],
  ])('when the proxy of the environment cannot be reached: %s', (_name, facts, place) => {
    const cause = Object.assign(new Error('x'), facts)
    expect(explainConnection(url, new TypeError('fetch failed', { cause }), 'HTTPS_PROXY')).toBe(
      `The proxy of your environment cannot be reached at ${place}, to connect to svc.example.com. Correct ` +
        'HTTPS_PROXY, or add the host to NO_PROXY.',
    )
  })

  it.each([
    [{ code: 'ECONNREFUSED', address: '192.0.2.1', port: 443 }, 'Nothing listens at svc.example.com.'],
    [{ code: 'ENOTFOUND', hostname: 'svc.example.com' }, 'There is no host named svc.example.com.'],
  ])('when its own host is the one of the error: %j', (facts, sentence) => {
    const cause = Object.assign(new Error('x'), facts)
    expect(explainConnection(url, new TypeError('fetch failed', { cause }))).toContain(sentence)
  })

  it('that did not come in time', () => {
    expect(explainConnection(url, AbortSignal.abort(new DOMException('x', 'TimeoutError')).reason)).toBe(
      'svc.example.com did not answer within 20 seconds. Try again; if it stays like this, tell your operator.',
    )
  })

  it('that did not come in time, through a proxy of the environment that may be the reason', () => {
    const { reason } = AbortSignal.abort(new DOMException('x', 'TimeoutError'))
    expect(explainConnection(url, reason, 'HTTPS_PROXY')).toBe(
      'svc.example.com did not answer within 20 seconds. Try again; if it stays like this, check the proxy of ' +
        'HTTPS_PROXY, or tell your operator.',
    )
  })

  it('where no connection was made, to a proxy of the environment or to the host', () => {
    expect(explainConnection(url, thrown('UND_ERR_CONNECT_TIMEOUT'), 'HTTPS_PROXY')).toBe(
      `svc.example.com, or the proxy of HTTPS_PROXY, does not answer. ${CHECK}`,
    )
  })

  it('where no connection was made, while a proxy is set that Node.js does not use', () => {
    vi.stubEnv('HTTPS_PROXY', 'http://proxy:3128')
    vi.stubEnv('NODE_USE_ENV_PROXY', '')
    expect(explainConnection(url, thrown('ENETUNREACH'))).toBe(
      `svc.example.com cannot be reached from this network. ${CHECK} HTTPS_PROXY is set, but svc does not use it. Set ` +
        'NODE_USE_ENV_PROXY=1 (Node.js 22.21 or newer) to use it.',
    )
    vi.unstubAllEnvs()
  })

  it('for an unknown reason', () => {
    expect(explainConnection(url, new Error('x'))).toMatch(/^https:\/\/svc\.example\.com cannot be reached\. Check/)
  })
})

describe('the proxy of the environment', () => {
  const HTTP = new URL('http://svc.example.com')
  const USED = { NODE_USE_ENV_PROXY: '1' }

  it.each([
    ['is the one for https', url, { ...USED, HTTPS_PROXY: 'a', HTTP_PROXY: 'b' }, 'HTTPS_PROXY'],
    ['is named by small letters first', url, { ...USED, HTTPS_PROXY: 'a', https_proxy: 'b' }, 'https_proxy'],
    ['is the one for http where https has none', url, { ...USED, HTTP_PROXY: 'b' }, 'HTTP_PROXY'],
    ['is the one for http for a URL without TLS', HTTP, { ...USED, HTTPS_PROXY: 'a', HTTP_PROXY: 'b' }, 'HTTP_PROXY'],
    ['is none for a URL without TLS where http has none', HTTP, { ...USED, HTTPS_PROXY: 'a' }, null],
    ['is none where Node.js does not use it', url, { HTTPS_PROXY: 'a' }, null],
  ])('%s', (_name, asked, variables, name) => {
    expect(findProxyVariable(asked, variables)).toBe(name)
  })
})

describe('an answer without a request id, as behind a proxy that has removed it', () => {
  afterEach(() => void vi.unstubAllGlobals())
  const METADATA = { device_authorization_endpoint: 'https://svc.example.com/oauth/device_authorization' }
  const METADATA_URL = 'https://svc.example.com/.well-known/oauth-authorization-server'

  /** The answer to a request at an address with this metadata of an authorization server. */
  const answered = (response: Response, metadata: Response | Error = Response.json(METADATA)) => {
    vi.stubGlobal('fetch', async (input: Request | string) => {
      if (input !== METADATA_URL) return response
      if (metadata instanceof Error) throw metadata
      return metadata
    })
    return sendRequest(new Request(url))
  }

  it.each([
    ['JSON', () => Response.json({})],
    ['a stream', () => new Response('data: {}', { headers: { 'content-type': 'text/event-stream' } })],
    ['no body', () => new Response(null, { status: 204 })],
  ])('is taken with %s', async (_name, make) => {
    const response = make()
    expect(await answered(response)).toBe(response)
  })

  it('is not taken with a text', async () => {
    await expect(answered(new Response('Hello'))).rejects.toThrow('answered 200 with something else instead of JSON')
  })

  it.each([
    ['has none', () => Response.json({ message: 'Not found' }, { status: 404 })],
    ['is a page', () => new Response('<h1>Hello</h1>')],
    ['is that of another kind of server', () => Response.json({ issuer: 'https://svc.example.com' })],
    ['is null', () => Response.json(null)],
  ])('is not taken with JSON where the metadata of the server %s', async (_name, make) => {
    await expect(answered(Response.json({ ok: true }), make())).rejects.toThrow(
      'https://svc.example.com answered 200, but not as svc: another service is at this address. Check the URL.',
    )
  })

  it.each([
    ['cannot be reached', () => thrown('ECONNRESET')],
    ['is limited', () => Response.json({}, { status: 429 })],
    ['is unavailable', () => Response.json({}, { status: 503 })],
  ])('is taken with JSON where the metadata %s now', async (_name, make) => {
    const response = Response.json({})
    expect(await answered(response, make())).toBe(response)
  })

  it('is taken with JSON when it still has the header request-id', async () => {
    const response = Response.json({}, { headers: { 'request-id': 'req_1' } })
    expect(await answered(response, Response.json({}, { status: 404 }))).toBe(response)
  })
})
