import { chmodSync, lstatSync, rmSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { relative, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { createServer, request } from '../http/node-http.ts'
import type { Logger } from '../log.ts'
import { codeOf } from '../kernel/error-code.ts'
import { OperatorError } from '../kernel/operator-error.ts'

/**
 * What operators' commands ask of the running service, by name. An action resolves with a sentence for the operator,
 * and rejects with an error whose message says what is wrong.
 */
export type ManagementActions = Readonly<Record<string, (options: URLSearchParams) => Promise<string>>>

export type Management = {
  /** Takes no more requests, and waits for the actions that are running. */
  close(): Promise<void>
}

/** No process answers at the socket, or it refused. The message says what to do. */
export class ManagementError extends OperatorError {
  override readonly name = 'ManagementError'
}

/**
 * Listens on a Unix socket that only this user can open. When that fails, the service works without it, and the log
 * says why.
 */
export async function openManagement(socket: string, actions: ManagementActions, log: Logger): Promise<Management> {
  /** The connections that have not sent a request yet. */
  const silent = new Set<Socket>()
  const server = createServer((req, res) => {
    silent.delete(req.socket)
    const [name = '', query] = (req.url ?? '/').slice(1).split('?')
    const action = Object.hasOwn(actions, name) ? actions[name] : undefined
    if (req.method !== 'POST' || !action) return end(res, 404, `No action: /${name}`)
    action(new URLSearchParams(query)).then(
      (answer) => end(res, 200, answer),
      (error: unknown) => end(res, 409, error instanceof Error ? error.message : String(error)),
    )
  })
  server.on('connection', (connection) => {
    silent.add(connection)
    connection.once('close', () => silent.delete(connection))
  })
  const path = shortest(socket)
  try {
    if (await isServed(path)) throw new Error('Another process listens there.')
    removeSocket(path)
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      // The socket is created at once, with the permissions that the mask leaves.
      const mask = process.umask(0o177)
      server.listen(path, resolve)
      process.umask(mask)
    })
    chmodSync(path, 0o600)
  } catch (err) {
    log.warn({ path: socket, err }, 'management.unavailable')
  }
  return {
    close: () =>
      new Promise((resolve) => {
        if (!server.listening) return resolve()
        server.close(() => resolve())
        // Node.js would wait for them, and after `close` it no longer checks how long.
        for (const connection of silent) connection.destroy()
      }),
  }
}

const OTHER_VERSION = 'The service that runs is of another version, which cannot do this. Restart it with this version.'

/** Asks the service at the socket for an action. Rejects with a `ManagementError`. */
export async function askService(
  socket: string,
  action: string,
  options: Readonly<Record<string, string>> = {},
): Promise<string> {
  const path = `/${action}?${new URLSearchParams(options).toString()}`
  return new Promise((resolve, reject) => {
    const fail = (error: unknown) => reject(new ManagementError(explain(socket, codeOf(error))))
    const sending = request({ socketPath: shortest(socket), method: 'POST', path }, (res) => {
      text(res).then((answer) => {
        if (res.statusCode === 200) resolve(answer)
        else reject(new ManagementError(res.statusCode === 404 ? OTHER_VERSION : answer))
      }, fail)
    })
    sending.on('error', fail)
    sending.end()
  })
}

function explain(socket: string, code: string | null): string {
  if (code === 'ECONNRESET') return 'The service has ended before it answered. Its log says why.'
  if (code === 'EACCES') return `The socket ${socket} belongs to another user. Run this as the service's user.`
  return (
    `No service answers at ${socket} (${code}). Start the service, or run this with the service's settings and in ` +
    'its working directory.'
  )
}

function end(res: ServerResponse, status: number, answer: string): void {
  res.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' }).end(answer)
}

/** The path from the working directory where that is shorter: the system limits the length of a socket's path. */
function shortest(path: string): string {
  const [absolute, fromHere] = [resolve(path), relative('', path)]
  return fromHere.length < absolute.length ? fromHere : absolute
}

/** Removes a socket file. A setting that names another file by mistake must not delete it. */
function removeSocket(path: string): void {
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (found && !found.isSocket()) throw new Error('A file that is no socket is there.')
  rmSync(path, { force: true })
}

/** Whether a process answers there: a socket file also stays behind a process that was killed. */
function isServed(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path, () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', () => resolve(false))
  })
}
