/**
 * Calls on plain sockets. A client and an upstream with an HTTP library take half as much CPU time as the gateway
 * between them. These take a fifth of it, so that a machine with two cores can keep two gateways busy.
 */
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { Socket } from 'node:net'
import { ANSWER } from './answer.ts'

/** Sends a request again and again on each of `callers` connections. Resolves with the number of answers. */
export async function countCalls(port: number, request: Buffer, callers: number, ms: number): Promise<number> {
  const sockets = await Promise.all(Array.from({ length: callers }, () => open(port)))
  let calls = 0
  await new Promise<void>((resolve, reject) => {
    setTimeout(resolve, ms)
    for (const socket of sockets) {
      socket.on('error', reject)
      socket.on('end', () => reject(new Error('The gateway has closed a connection.')))
      readMessages(socket, (head) => {
        if (!head.startsWith('HTTP/1.1 200 ')) return reject(new Error(`The gateway answered: ${head}`))
        calls += 1
        socket.write(request)
      })
      socket.write(request)
    }
  })
  for (const socket of sockets) socket.destroy()
  return calls
}

async function open(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  await once(socket, 'connect')
  return socket
}

/** The bytes of a call. */
export function makeRequest(path: string, headers: Readonly<Record<string, string>>, body: Buffer): Buffer {
  const all = { host: '127.0.0.1', 'content-length': body.length, ...headers }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`)
  return Buffer.concat([Buffer.from(`POST ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`), body])
}

/** Serves an upstream that gives each call the same answer. It does not keep the process alive. */
export function serveRaw(port: number): void {
  const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${ANSWER.length}\r\n\r\n`
  const answer = Buffer.from(head + ANSWER)
  const server = createServer({ noDelay: true }, (socket) => {
    socket.on('error', () => undefined)
    readMessages(socket, () => socket.write(answer))
  })
  server.listen({ port, host: '127.0.0.1', backlog: 4096 }).unref()
}

/** Calls `onMessage` with the head of each HTTP message that has arrived as a whole. Heads come in one piece. */
function readMessages(socket: Socket, onMessage: (head: string) => void): void {
  let head = ''
  let missing = 0
  socket.on('data', (chunk: Buffer) => {
    if (missing === 0) {
      const end = chunk.indexOf('\r\n\r\n')
      head = chunk.toString('latin1', 0, end)
      missing = end + 4 + Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0)
    }
    missing -= chunk.length
    if (missing === 0) onMessage(head)
  })
}
