/** Requests that are not valid HTTP, most of which the app never sees. */
import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, it } from 'vitest'
import { openHttpServer } from '../../src/server/http-server.ts'
import { SERVER_TIMEOUTS } from '../../src/server/listener.ts'
import { closeHttpServer, listenOnLoopback } from '../support/loopback.ts'
import { recordingLog } from '../support/recording-log.ts'
import type { LogLine } from '../support/recording-log.ts'
import { startService } from '../support/service.ts'

/** Sends these bytes, each part after an answer to the one before it, and resolves with all that was received. */
async function exchange(parts: readonly string[], handle: RequestListener = (_req, res) => void res.end('ok')) {
  const lines: LogLine[] = []
  const { server } = openHttpServer(handle, SERVER_TIMEOUTS, { log: recordingLog(lines) })
  const port = await listenOnLoopback(server)
  try {
    const socket = connect(port, '127.0.0.1')
    let received = ''
    const left = [...parts]
    socket.setEncoding('utf8').on('data', (part: string) => {
      received += part
      const next = left.shift()
      if (next !== undefined) socket.write(next)
    })
    socket.write(left.shift() ?? '')
    await once(socket, 'close')
    return { received, lines }
  } finally {
    await closeHttpServer(server)
  }
}

it.each([
  ['no HTTP at all', 'BLAH\r\n\r\n', 400, 'invalid_request'],
  [
    'two lengths',
    'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
    400,
    'invalid_request',
  ],
  ['large headers', `GET / HTTP/1.1\r\nHost: x\r\nX-Large: ${'a'.repeat(20_000)}\r\n\r\n`, 431, 'invalid_request'],
])(
  'of %s are answered with the error envelope, and logged with the id of the answer',
  async (_name, sent, status, code) => {
    const { received, lines } = await exchange([sent])
    const [head = '', body = ''] = received.split('\r\n\r\n')
    expect(head).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
    const id = /^x-request-id: (req_\w+)$/m.exec(head)?.[1]
    expect(head).toContain(`\r\nrequest-id: ${id}\r\n`)
    expect(JSON.parse(body)).toMatchObject({ type: 'error', error: { type: 'invalid_request_error', code } })
    expect(lines).toMatchObject([{ event: 'http.malformed', fields: { requestId: id, status } }])
  },
)

it('are answered after the answers to earlier requests of the connection', async () => {
  const { received } = await exchange(['GET / HTTP/1.1\r\nHost: x\r\n\r\n', 'BLAH\r\n\r\n'])
  expect(received.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 400'])
})

const CHUNKED = 'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n'

it('are answered after the body of a request that was answered before it', async () => {
  const { received } = await exchange([CHUNKED, '0\r\n\r\nBLAH\r\n\r\n'])
  expect(received.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 400'])
})

it('get no second answer when they were answered before the end of their body', async () => {
  const { received, lines } = await exchange([CHUNKED, 'BLAH\r\n'])
  expect(received.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200'])
  expect(lines).toEqual([])
})

it('close the connection without an answer in the middle of another answer', async () => {
  const stalls: RequestListener = (_req, res) => void res.writeHead(200).write('half')
  const { received, lines } = await exchange(['GET / HTTP/1.1\r\nHost: x\r\n\r\n', 'BLAH\r\n\r\n'], stalls)
  expect(received.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200'])
  expect(lines).toEqual([])
})

it.each([
  ['without a Host header', 'HTTP/1.1', [], 'The request has no Host header.'],
  ['with two Host headers', 'HTTP/1.1', ['Host: x', 'host: y'], 'The request has more than one Host header.'],
  [
    'with two Host headers in HTTP/1.0',
    'HTTP/1.0',
    ['Host: x', 'Host: y'],
    'The request has more than one Host header.',
  ],
])('%s are answered with the error envelope and an id, like all others', async (_name, version, hosts, message) => {
  await using service = await startService()
  const lines = [`GET /healthz ${version}`, ...hosts, 'Connection: close', '', '']
  const [head = '', body = ''] = (await sendText(service.origin, lines.join('\r\n'))).split('\r\n\r\n')
  expect(head).toMatch(/^HTTP\/1\.1 400 /)
  expect(head).toMatch(/^x-request-id: req_\w+$/m)
  expect(JSON.parse(body)).toMatchObject({ error: { code: 'invalid_request', message } })
})

it.each([
  ['chunked in HTTP/1.0', 'HTTP/1.0', 'chunked'],
  ['with a second transfer coding', 'HTTP/1.1', 'gzip, chunked'],
])('with a body that is %s are refused, and what follows them is not served', async (_name, version, coding) => {
  await using service = await startService()
  const head = [
    `POST /v1/auth/device/start ${version}`,
    'Host: x',
    'Connection: keep-alive',
    `Transfer-Encoding: ${coding}`,
  ]
  const follows = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'
  const answer = await sendText(service.origin, `${head.join('\r\n')}\r\n\r\n2\r\n{}\r\n0\r\n\r\n${follows}`)
  expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 400'])
  expect(answer).toContain('Send the body with a Content-Length')
  expect(service.log.filter(({ event }) => event === 'http.request')).toMatchObject([{ fields: { method: 'POST' } }])
})

it.each([
  ['in HTTP/1.0', 'GET /healthz HTTP/1.0\r\n\r\n'],
  ['with an unknown expectation', 'GET /healthz HTTP/1.1\r\nHost: x\r\nExpect: more\r\nConnection: close\r\n\r\n'],
])('%s are served, because they are valid', async (_name, sent) => {
  await using service = await startService()
  expect(await sendText(service.origin, sent)).toMatch(/^HTTP\/1\.1 200 /)
})

/** Sends this text to a service and resolves with what it has answered when it closes the connection. */
async function sendText(origin: string, sent: string): Promise<string> {
  const { hostname, port } = new URL(origin)
  const socket = connect(Number(port), hostname)
  socket.write(sent)
  return text(socket)
}
