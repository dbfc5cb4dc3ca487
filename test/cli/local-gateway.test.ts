import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { openLocalGateway } from '../../src/cli/agents/local-gateway.ts'
import { closeHttpServer, listenOnLoopback } from '../support/loopback.ts'
import { bearerOf } from '../support/requests.ts'
import { withDeadline } from '../support/wait.ts'
import { closedPort } from './machine.ts'

/** A local gateway whose token is `old`, and `new` once it has been rejected. */
const openAt = (gatewayUrl: string) =>
  openLocalGateway({ gatewayUrl, accessToken: async () => 'old', renewAccessToken: async () => 'new' })

/** A local gateway before a gateway that answers like this. `calls`: what that gateway got. */
async function openBefore(answer: (req: IncomingMessage, res: ServerResponse) => void) {
  const calls: { readonly req: IncomingMessage; readonly body: string }[] = []
  const server = createServer((req, res) => {
    void text(req).then((body) => {
      calls.push({ req, body })
      answer(req, res)
    })
  })
  const port = await listenOnLoopback(server)
  const local = await openAt(`http://127.0.0.1:${port}`)
  const call = (path: string, init: RequestInit = {}) =>
    fetch(local.url + path, { ...init, headers: bearerOf(local.key) })
  return { local, port, calls, call, [Symbol.asyncDispose]: () => closeHttpServer(server) }
}

const accept = (_req: IncomingMessage, res: ServerResponse) => void res.end('ok')

describe('the local gateway', () => {
  it('hands a call and its answer on', async () => {
    await using gateway = await openBefore((_req, res) => {
      res.writeHead(404, { 'x-request-id': 'r' }).end('{"error":{}}')
    })
    const answer = await gateway.call('/v1/chat/completions?a=1', { method: 'POST', body: '{"model":"m"}' })
    expect([answer.status, answer.headers.get('x-request-id'), await answer.text()]).toEqual([404, 'r', '{"error":{}}'])
    expect(gateway.calls.map(({ req, body }) => [req.method, req.url, req.headers.authorization, body])).toEqual([
      ['POST', '/v1/chat/completions?a=1', 'Bearer old', '{"model":"m"}'],
    ])
  })

  it('sends no header of the connection on, and the host of the gateway', async () => {
    await using gateway = await openBefore(accept)
    const { local, port, calls } = gateway
    const headers = { authorization: `Bearer ${local.key}`, te: 'trailers', 'proxy-connection': 'close' }
    await new Promise((resolve) => request(local.url, { headers }, resolve).end())
    expect(calls[0]?.req.headers).toMatchObject({ host: `127.0.0.1:${port}` })
    expect(calls[0]?.req.headers).not.toMatchObject({ te: 'trailers' })
    expect(calls[0]?.req.headers).not.toMatchObject({ 'proxy-connection': 'close' })
  })

  it.each([
    ['accepts', 200],
    ['rejects too', 401],
  ])('sends a call once more with a new token, which the gateway %s', async (_, status) => {
    await using gateway = await openBefore((req, res) => {
      res.writeHead(req.headers.authorization === 'Bearer old' ? 401 : status).end()
    })
    expect((await gateway.call('/v1/models')).status).toBe(status)
    expect(gateway.calls.map(({ req }) => req.headers.authorization)).toEqual(['Bearer old', 'Bearer new'])
  })

  it.each([
    ['no key', () => ({})],
    ['a key of the same length', (key: string) => bearerOf('x'.repeat(key.length))],
  ])('refuses a call with %s', async (_, headersOf) => {
    await using gateway = await openBefore(accept)
    const { url, key } = gateway.local
    expect((await fetch(url, { headers: headersOf(key) })).status).toBe(401)
    expect(gateway.calls).toEqual([])
  })

  it('gives the call up at the gateway where the agent leaves before the answer', async () => {
    const arrived = Promise.withResolvers<ServerResponse>()
    await using gateway = await openBefore((_req, res) => arrived.resolve(res))
    const agent = new AbortController()
    const answer = gateway.call('/v1/models', { signal: agent.signal })
    const ended = once(await arrived.promise, 'close')
    agent.abort()
    await expect(answer).rejects.toThrow()
    await withDeadline('the end of the call', ended)
  })

  it('breaks an answer off where the gateway does', async () => {
    await using gateway = await openBefore((_req, res) => {
      res.write('data: 1\n\n', () => res.destroy())
    })
    await expect(gateway.call('/v1/models').then((answer) => answer.text())).rejects.toThrow()
  })

  it.each(['http', 'https'])('says what to do when the gateway cannot be reached with %s', async (scheme) => {
    const host = `localhost:${await closedPort()}`
    const { url, key } = await openAt(`${scheme}://${host}`)
    const answer = await fetch(`${url}/v1/models`, { headers: bearerOf(key) })
    expect([answer.status, await answer.text()]).toEqual([
      502,
      expect.stringContaining(`Nothing listens at ${host}. Check the URL, or start the service.`),
    ])
  })
})
