import { createServer } from 'node:http'
import { describe, expect, it } from 'vitest'
import { startContractProxy } from '../support/contract/contract-proxy.ts'
import { closeHttpServer, listenOnLoopback } from '../support/loopback.ts'

/** An answer as the service writes it. */
type Answer = { readonly status?: number; readonly headers?: Readonly<Record<string, string>>; readonly body: unknown }

const IDS = { 'x-request-id': 'req_1', 'request-id': 'req_1', 'content-type': 'application/json' }
const EVENT = { id: '1', type: 'heartbeat', at: '2026-11-21T09:00:00.000Z' }
const STREAM = '/v1/sessions/run-1/stream?team=%40acme%2Fcore'
const bearer = { authorization: 'Bearer token' }

/** What the proxy reports about one request and its answer; null: nothing. */
async function report(path: string, request: RequestInit, { status = 200, headers = {}, body }: Answer) {
  const service = createServer((_, res) => {
    res.writeHead(status, { ...IDS, ...headers }).end(typeof body === 'string' ? body : JSON.stringify(body))
  })
  const proxy = await startContractProxy()
  proxy.forwardTo(await listenOnLoopback(service))
  // An answer that does not match is cut off.
  await fetch(`http://127.0.0.1:${proxy.port}${path}`, request)
    .then((answer) => answer.text())
    .catch(() => null)
  await closeHttpServer(service)
  try {
    await proxy[Symbol.asyncDispose]()
    return null
  } catch (error) {
    return String(error)
  }
}

describe('the proxy that tests put before the service', () => {
  it('lets pass what is in the contract', async () => {
    expect(await report('/healthz', {}, { body: { status: 'ok' } })).toBeNull()
    const stream = { headers: { 'content-type': 'application/x-ndjson' }, body: `${JSON.stringify(EVENT)}\n` }
    expect(await report(STREAM, { headers: bearer }, stream)).toBeNull()
  })

  it.each<[string, string, RequestInit, Answer, RegExp]>([
    ['an undocumented status', '/healthz', {}, { status: 418, body: {} }, /getHealth 418 is not in the contract/],
    ['an undeclared field', '/healthz', {}, { body: { status: 'ok', secret: 1 } }, /additional properties.*secret/],
    [
      'another content type',
      '/healthz',
      {},
      { headers: { 'content-type': 'text/plain' }, body: 'ok' },
      /"text\/plain"/,
    ],
    [
      'a header of another form',
      '/v1/models',
      { headers: bearer },
      {
        status: 429,
        headers: { 'retry-after': 'soon' },
        body: {},
      },
      /Retry-After: soon must be integer/,
    ],
    [
      'an event that does not match',
      STREAM,
      { headers: bearer },
      {
        headers: { 'content-type': 'text/event-stream' },
        body: 'data: {"id":1}\n\n',
      },
      /An event of streamAgentSession/,
    ],
    [
      'an accepted parameter',
      '/v1/usage?by=color',
      { headers: bearer },
      {
        headers: { 'content-type': 'text/csv' },
        body: '',
      },
      /by: color must be equal to one of/,
    ],
    [
      'an accepted body',
      '/v1/auth/logout-everywhere',
      {
        method: 'POST',
        headers: { ...bearer, 'content-type': 'application/json' },
        body: '{"scope":"none"}',
      },
      { body: { ok: true, devices: 1, passkeys: 0, apiKeys: 0 } },
      /accepted a request.*scope/,
    ],
    [
      'an accepted request without a credential',
      '/v1/devices',
      {},
      { body: { devices: [] } },
      /there is no credential/,
    ],
  ])('reports %s', async (_, path, request, answer, message) => {
    expect(await report(path, request, answer)).toMatch(message)
  })
})
