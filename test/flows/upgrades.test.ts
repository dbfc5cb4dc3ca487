import { Agent, request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startGateway, TOKEN } from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'
import { servedModel } from '../support/served-models.ts'
import { answersJson, startUpstream } from '../support/upstream.ts'
import type { TestUpstream } from '../support/upstream.ts'

let upstream: TestUpstream
let gateway: TestGateway

beforeAll(async () => {
  upstream = await startUpstream(answersJson({ output: [] }))
  const model = servedModel('vendora/large')
  gateway = await startGateway({ vendora: upstream.url, vendorc: upstream.url, team: { models: [model] } })
})
afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  await upstream[Symbol.asyncDispose]()
})

const HANDSHAKE = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
}

describe('a WebSocket handshake', () => {
  it.each(['/v1/responses', '/codex/v1/responses', '/v1/responses?x=1', '/vendorb/v1/messages'])(
    'on %s is answered 426, with and without a credential',
    async (path) => {
      for (const headers of [HANDSHAKE, { ...HANDSHAKE, authorization: `Bearer ${TOKEN}` }]) {
        const { status, body, headers: answered } = await ask(path, { headers })
        expect([status, (JSON.parse(body) as { error: { code: string } }).error.code]).toEqual([
          426,
          'upgrade_required',
        ])
        expect(answered['x-request-id']).toMatch(/^req_/)
      }
    },
  )

  it('is answered 426 behind a proxy too, which does not pass Upgrade on', async () => {
    const { connection: _own, upgrade: _hop, ...headers } = HANDSHAKE
    expect((await ask('/codex/v1/responses', { headers })).status).toBe(426)
  })

  it('on an unknown path is answered 404', async () => {
    expect((await ask('/v1/realtime', { headers: HANDSHAKE })).status).toBe(404)
  })

  it('leaves the connection usable for the next call', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const refused = await ask('/codex/v1/responses', { agent, headers: HANDSHAKE })
    const body = JSON.stringify({ model: 'vendora/large', input: 'hi' })
    const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }
    const served = await ask('/codex/v1/responses', { agent, method: 'POST', headers, body })
    agent.destroy()
    expect([refused.status, served.status]).toEqual([426, 200])
  })
})

it('ignores an upgrade to another protocol (RFC 9110, section 7.8)', async () => {
  const body = JSON.stringify({ model: 'vendora/large', input: 'hi' })
  const headers = {
    authorization: `Bearer ${TOKEN}`,
    'content-type': 'application/json',
    connection: 'Upgrade, HTTP2-Settings',
    upgrade: 'h2c',
    'http2-settings': 'AAMAAABkAARAAAAAAAIAAAAA',
  }
  expect((await ask('/v1/responses', { method: 'POST', headers, body })).status).toBe(200)
})

it('answers 404 to the HEAD request by which a client checks whether the gateway is there', async () => {
  expect((await ask('/vendorb/api/hello', { method: 'HEAD' })).status).toBe(404)
})

type RequestOptions = { agent?: Agent; method?: string; headers?: Record<string, string>; body?: string }

/** Sends a request with Node's client, because `fetch` does not send upgrades. */
function ask(path: string, { body, ...options }: RequestOptions) {
  return new Promise<{ status: number; body: string; headers: IncomingMessage['headers'] }>((resolve, reject) => {
    const asking = request(gateway.url + path, options, (answer) => {
      const chunks: Buffer[] = []
      answer.on('data', (chunk: Buffer) => chunks.push(chunk))
      answer.on('end', () =>
        resolve({ status: answer.statusCode ?? 0, body: Buffer.concat(chunks).toString(), headers: answer.headers }),
      )
    })
    asking.on('error', reject)
    asking.end(body)
  })
}
