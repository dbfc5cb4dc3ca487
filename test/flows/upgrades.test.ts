import { Agent, request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { servedModel, startGateway, TOKEN } from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'
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
    'on %s is answered 426 at once, with a credential and without',
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

  it('on a path that is none is not found', async () => {
    expect((await ask('/v1/realtime', { headers: HANDSHAKE })).status).toBe(404)
  })

  it('leaves the connection fit for the call that follows on it', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const refused = await ask('/codex/v1/responses', { agent, headers: HANDSHAKE })
    const body = JSON.stringify({ model: 'vendora/large', input: 'hi' })
    const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }
    const served = await ask('/codex/v1/responses', { agent, method: 'POST', headers, body })
    agent.destroy()
    expect([refused.status, served.status]).toEqual([426, 200])
  })
})

it('an offer of another protocol is passed over, as HTTP asks', async () => {
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

it('a question whether the gateway is there is answered fast, and not by an error of the server', async () => {
  expect((await ask('/vendorb/api/hello', { method: 'HEAD' })).status).toBe(404)
})

type Asked = { agent?: Agent; method?: string; headers?: Record<string, string>; body?: string }

function ask(path: string, { body, ...options }: Asked) {
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
