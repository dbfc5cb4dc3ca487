/** Requests that are not valid HTTP, which the app never sees. */
import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import { connect } from 'node:net'
import { expect, it } from 'vitest'
import { openHttpServer } from '../../src/server/http-server.ts'
import { SERVER_TIMEOUTS } from '../../src/server/listener.ts'
import { closeHttpServer, listenOnLoopback } from '../support/loopback.ts'
import { recordingLog } from '../support/recording-log.ts'
import type { LogLine } from '../support/recording-log.ts'

/** Sends these bytes, each part after an answer to the one before it, and resolves with all that was received. */
async function exchange(parts: readonly string[], handle: RequestListener = (_req, res) => void res.end('ok')) {
  const lines: LogLine[] = []
  const { server } = openHttpServer(handle, SERVER_TIMEOUTS, { log: recordingLog(lines) })
  const port = await listenOnLoopback(server)
  try {
    const socket = connect(port, '127.0.0.1')
    let received = ''
    const left = [...parts]
    socket.setEncoding('utf8').on('data', (text: string) => {
      received += text
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

it('close the connection without an answer in the middle of another answer', async () => {
  const stalls: RequestListener = (_req, res) => void res.writeHead(200).write('half')
  const { received, lines } = await exchange(['GET / HTTP/1.1\r\nHost: x\r\n\r\n', 'BLAH\r\n\r\n'], stalls)
  expect(received.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200'])
  expect(lines).toEqual([])
})
