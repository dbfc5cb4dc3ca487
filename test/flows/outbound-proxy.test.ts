import tls from 'node:tls'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { readConfig, warningsOf } from '../../src/config.ts'
import { readOutboundProxy } from '../../src/config/outbound-proxy.ts'
import type { DirectoryBackend } from '../../src/directory/backends.ts'
import { makeConnectProbe } from '../../src/gateway/backends/backend.ts'
import { makeSharedLookup } from '../../src/gateway/backends/shared-lookup.ts'
import type { OutboundProxy } from '../../src/kernel/network/outbound-proxy.ts'
import { startGateway } from '../support/gateway.ts'
import { freePort } from '../support/loopback.ts'
import { makeCertificate } from '../support/network/certificate.ts'
import { startConnectProxy } from '../support/network/connect-proxy.ts'
import { serveEntry, servedModel } from '../support/served-models.ts'
import { answersJson, completionOf, startUpstream } from '../support/upstream.ts'
import type { TestUpstream } from '../support/upstream.ts'

let vendor: TestUpstream
let engine: TestUpstream
beforeAll(async () => {
  const certificate = makeCertificate()
  tls.setDefaultCACertificates([...tls.getCACertificates('default'), certificate.cert])
  vendor = await startUpstream(undefined, certificate)
  engine = await startUpstream()
})
afterAll(async () => {
  await vendor[Symbol.asyncDispose]()
  await engine[Symbol.asyncDispose]()
})
const answers = answersJson(completionOf('large'))
beforeEach(() => {
  vendor.restart(answers)
  engine.restart(answers)
})

/** The proxy that these variables name. */
function proxyOf(origin: string, noProxy = ''): OutboundProxy {
  const { outboundProxy } = readOutboundProxy({ NODE_USE_ENV_PROXY: '1', HTTPS_PROXY: origin, NO_PROXY: noProxy })
  if (!outboundProxy) throw new Error(`No proxy was read from ${origin}.`)
  return outboundProxy
}

const backendAt = (name: string, { origin: url }: URL): DirectoryBackend => {
  return { name, dialects: ['chat'], url, basePath: '/v1', credential: null }
}

/** Calls a model that the vendor serves, and the engine when the vendor cannot be reached. */
async function call(outboundProxy: OutboundProxy, times = 1) {
  const serve = [serveEntry('vendor', 'large'), serveEntry('engine', 'small', { rank: 1 })]
  await using gateway = await startGateway({
    backends: [backendAt('vendor', vendor.url), backendAt('engine', engine.url)],
    team: { models: [servedModel('team/writer', { serve })] },
    outboundProxy,
  })
  const outcomes = []
  for (let i = 0; i < times; i++) {
    const answer = await gateway.post('/v1/chat/completions', { model: 'team/writer', messages: [] })
    await answer.arrayBuffer()
    outcomes.push(`${answer.status} ${answer.headers.get('x-svc-served-by')}`)
  }
  return { outcomes, log: JSON.stringify(gateway.log) }
}

describe('a gateway with an outbound proxy', () => {
  it('calls https backends through one tunnel, with the credentials of the proxy', async () => {
    await using proxy = await startConnectProxy()
    const withCredentials = proxy.origin.replace('//', '//ada:p%40ss@')
    const { outcomes } = await call(proxyOf(withCredentials), 3)
    expect(outcomes).toEqual(['200 vendor', '200 vendor', '200 vendor'])
    const authorization = `Basic ${Buffer.from('ada:p@ss').toString('base64')}`
    expect(proxy.requests).toEqual([{ target: vendor.url.host, authorization }])
    expect(vendor.last().headers['proxy-authorization']).toBeUndefined()
  })

  it('calls a backend that NO_PROXY names directly', async () => {
    await using proxy = await startConnectProxy()
    expect((await call(proxyOf(proxy.origin, 'localhost'))).outcomes).toEqual(['200 vendor'])
    expect(proxy.requests).toEqual([])
  })

  it.each([
    ['refuses the credentials', 407, 'PROXY_STATUS_407'],
    ['cannot reach the backend', 502, 'PROXY_STATUS_502'],
    ['does not answer in time', null, 'PROXY_TIMEOUT'],
    ['does not end its answer in time', 'endless', 'PROXY_TIMEOUT'],
  ] as const)('calls the next backend directly when the proxy %s', async (_name, status, reason) => {
    await using proxy = await startConnectProxy(status)
    const { outcomes, log } = await call(proxyOf(proxy.origin.replace('//', '//ada:hunter2@')))
    expect(outcomes).toEqual(['200 engine'])
    expect(log).toContain(reason)
    expect(log).not.toContain('hunter2')
    expect(vendor.calls).toEqual([])
  })

  it('calls the next backend when there is no proxy', async () => {
    const { outcomes, log } = await call(proxyOf(`http://127.0.0.1:${await freePort()}`))
    expect(outcomes).toEqual(['200 engine'])
    expect(log).toContain('PROXY_ECONNREFUSED')
  })

  it.each([
    ['can', 200, true],
    ['cannot', 503, false],
  ])('finds out whether the proxy %s connect to a backend', async (_name, status, expected) => {
    await using proxy = await startConnectProxy(status)
    const connecting = { connectTimeoutMs: 2000, lookup: makeSharedLookup(), outboundProxy: proxyOf(proxy.origin) }
    expect(await makeConnectProbe(vendor.url, connecting)()).toBe(expected)
    expect(proxy.requests).toHaveLength(1)
  })
})

describe('NO_PROXY', () => {
  const usesProxy = (url: string, noProxy: string) => proxyOf('http://proxy:3128', noProxy).isFor(new URL(url))

  it.each([
    ['https://api.vendor.example', 'vendor.example'],
    ['https://vendor.example', '.vendor.example'],
    ['https://API.vendor.example', '*.Vendor.example'],
    ['https://vendor.example.', 'vendor.example'],
    ['https://vendor.example', 'other.example, vendor.example:443'],
    ['https://vendor.example:8443', 'other.example vendor.example:8443'],
    ['https://[::1]:8443', '::1'],
    ['https://[::1]:8443', '[::1]:8443'],
    ['https://10.0.0.7', '10.0.0.7'],
    ['https://vendor.example', '*'],
    ['http://vendor.example', ''],
  ])('%s is reached directly with "%s"', (url, noProxy) => {
    expect(usesProxy(url, noProxy)).toBe(false)
  })

  it.each([
    ['https://vendor.example', ''],
    ['https://vendor.example', ',,'],
    ['https://vendor.example', '*.vendor.example'],
    ['https://myvendor.example', 'vendor.example'],
    ['https://vendor.example:8443', 'vendor.example:443'],
    ['https://[::1]:8443', '[::1]:443'],
  ])('%s is reached through the proxy with "%s"', (url, noProxy) => {
    expect(usesProxy(url, noProxy)).toBe(true)
  })
})

it.each(['proxy:3128', 'socks5://proxy:1080', 'http://ada:%@proxy:3128'])(
  'HTTPS_PROXY=%s is a mistake of the settings',
  (value) => {
    const env = { SVC_PORT: 'x', NODE_USE_ENV_PROXY: '1', HTTPS_PROXY: value }
    expect(() => readConfig(env)).toThrow('HTTPS_PROXY: must be http://HOST:PORT or https://HOST:PORT')
  },
)

it('a proxy that is not used gives a warning, except where no backend is called', () => {
  const warningsWith = (env: Record<string, string>) => warningsOf(readConfig(env), env).join()
  const set = { HTTPS_PROXY: 'http://proxy:3128' }
  expect(readConfig(set).outboundProxy).toBeNull()
  expect(warningsWith(set)).toContain('HTTPS_PROXY is set, but svc does not use it.')
  expect(warningsWith({ ...set, NODE_USE_ENV_PROXY: '1' })).not.toContain('HTTPS_PROXY')
  expect(warningsWith({ ...set, SVC_ROLE: 'control-plane' })).not.toContain('HTTPS_PROXY')
})
