import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { expect, it } from 'vitest'
import { openHttpServer } from '../../src/server/http-server.ts'
import { SERVER_TIMEOUTS } from '../../src/server/listener.ts'
import { closeHttpServer, listenOnLoopback } from '../support/loopback.ts'
import { waitForValue } from '../support/wait.ts'

const request = (path: string) => `GET ${path} HTTP/1.1\r\nHost: svc\r\n\r\n`

/** Sends these requests in one packet; resolves with what was parsed, served and answered when the connection ends. */
async function pipeline(paths: readonly string[], toRequest = request) {
  const served: string[] = []
  const { server } = openHttpServer((req, res) => {
    served.push(String(req.url))
    if (req.url === '/close') res.setHeader('Connection', 'close')
    setImmediate(() => res.end(req.url === '/last' ? 'end' : 'ok'))
  }, SERVER_TIMEOUTS)
  let parsed = 0
  server.on('request', () => parsed++)
  const port = await listenOnLoopback(server)
  try {
    const socket = connect(port, '127.0.0.1')
    let answers = ''
    socket.setEncoding('utf8').on('data', (text: string) => {
      answers += text
      if (answers.endsWith('end')) socket.end()
    })
    socket.write(paths.map(toRequest).join(''))
    await once(socket, 'close')
    return { parsed, served, answers: answers.split('HTTP/1.1 200').length - 1 }
  } finally {
    await closeHttpServer(server)
  }
}

it('serves some requests that are sent before the first is answered, in their order', async () => {
  const paths = [...Array.from({ length: 16 }, (_, index) => `/${index}`), '/last']
  expect(await pipeline(paths)).toEqual({ parsed: 17, served: paths, answers: 17 })
})

it('gives the next request no time limit of the answer before it', async () => {
  const limits: (number | undefined)[] = []
  const { server } = openHttpServer((req, res) => {
    limits.push(req.socket.timeout)
    setImmediate(() => res.end('ok'))
  }, SERVER_TIMEOUTS)
  const port = await listenOnLoopback(server)
  try {
    const socket = connect(port, '127.0.0.1')
    socket.write(request('/') + request('/'))
    await waitForValue('both requests', () => limits, [0, 0])
    socket.destroy()
  } finally {
    await closeHttpServer(server)
  }
})

it('closes a connection that sends too many such requests, and does not parse them', async () => {
  // The one that is served, those that wait, and the one whose arrival closes the connection.
  expect(await pipeline(Array.from({ length: 1400 }, () => '/'))).toEqual({ parsed: 18, served: ['/'], answers: 0 })
})

it('serves no further request after an answer that closes the connection', async () => {
  expect(await pipeline(['/', '/close', '/never'])).toEqual({ parsed: 3, served: ['/', '/close'], answers: 2 })
  // In HTTP/1.0, an answer without a length ends with its connection.
  const inHttp10 = (path: string) => `GET ${path} HTTP/1.0\r\nHost: svc\r\nConnection: keep-alive\r\n\r\n`
  expect(await pipeline(['/', '/never'], inHttp10)).toEqual({ parsed: 2, served: ['/'], answers: 1 })
})

it('closes the connection of a client that closes its side and does not read the answer', async () => {
  const answering = Promise.withResolvers<ServerResponse>()
  const { server } = openHttpServer((_req, res) => {
    // More than the buffers of a connection hold, and not the end of the answer.
    res.write(Buffer.alloc(32_000_000))
    answering.resolve(res)
  }, SERVER_TIMEOUTS)
  const port = await listenOnLoopback(server)
  try {
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    socket.pause().write(request('/'))
    const res = await answering.promise
    socket.end()
    await once(res, 'close')
    expect(res.writableFinished).toBe(false)
  } finally {
    await closeHttpServer(server)
  }
})
