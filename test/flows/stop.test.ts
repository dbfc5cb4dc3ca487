import { spawn } from 'node:child_process'
import type { ChildProcess, SpawnOptions } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { Agent, get as httpGet } from 'node:http'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { connect, createServer } from 'node:net'
import type { Socket } from 'node:net'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { openHttpServer } from '../../src/server/http-server.ts'
import { listenOn, SERVER_TIMEOUTS } from '../../src/server/listener.ts'
import type { ServerTimeouts } from '../../src/server/listener.ts'
import { canConnect, freePort, listenOnLoopback } from '../support/loopback.ts'
import { START_ENV } from '../support/process.ts'
import { startService } from '../support/service.ts'
import { waitForValue, waitUntil, withDeadline } from '../support/wait.ts'

const ROOT = path.join(import.meta.dirname, '../..')

/** Answers `/N` with N bytes, `/stream` with a stream of four chunks in 400 ms, and `/endless` with one that never ends. */
const app: RequestListener = (req, res) => {
  const { url = '' } = req
  if (url === '/endless') return void res.write('first')
  if (url === '/stream') {
    res.write('0')
    let at = 0
    const timer = setInterval(() => {
      res.write(String(++at))
      if (at === 3) clearInterval(timer)
      if (at === 3) res.end()
    }, 100)
    return
  }
  res.end(Buffer.alloc(Number(url.slice(1)), 'x'))
}

async function startServer(given: Partial<ServerTimeouts> = {}, handle: RequestListener = app) {
  const http = openHttpServer(handle, { ...SERVER_TIMEOUTS, ...given })
  const port = await listenOn(http.server, '127.0.0.1', 0, 'SVC_PORT')
  return { http, port, stop: (maxMs = 5000) => http.stop(maxMs, async () => {}) }
}

/** A request on a connection of the agent; resolves with the answer and its body. */
async function get(agent: Agent, port: number, path: string): Promise<{ res: IncomingMessage; body: string }> {
  const [res] = (await once(httpGet({ agent, port, path }), 'response')) as [IncomingMessage]
  let body = ''
  for await (const chunk of res.setEncoding('latin1')) body += String(chunk)
  return { res, body }
}

describe('a server that stops', () => {
  it('answers callers on open connections with Connection: close instead of cutting them off', async () => {
    const { port, stop } = await startServer()
    const agents = Array.from({ length: 20 }, () => new Agent({ keepAlive: true, maxSockets: 1 }))
    for (const agent of agents) expect((await get(agent, port, '/2')).res.headers.connection).toBe('keep-alive')
    const stopped = stop()
    const answers = await Promise.all(
      agents.map((agent, index) => sleep(index * 20).then(() => get(agent, port, '/2'))),
    )
    expect(answers.map(({ res, body }) => `${res.headers.connection} ${body}`)).toEqual(agents.map(() => 'close xx'))
    await withDeadline('the server to stop', stopped)
  })

  it('answers a request that runs already with Connection: close', async () => {
    const waiting = Promise.withResolvers<ServerResponse>()
    const { port, stop } = await startServer({ stopLinger: 0 }, (_req, res) => waiting.resolve(res))
    const answer = get(new Agent({ keepAlive: true }), port, '/2')
    const res = await waiting.promise
    const stopped = stop()
    res.end('xx')
    expect((await answer).res.headers.connection).toBe('close')
    await withDeadline('the server to stop', stopped)
  })

  it('takes no new connections', async () => {
    const { port, stop } = await startServer()
    const stopped = stop()
    await expect(get(new Agent(), port, '/2')).rejects.toThrow('ECONNREFUSED')
    await stopped
  })

  it('lets a running stream end', async () => {
    const { http, port, stop } = await startServer()
    const arrived = once(http.server, 'request')
    const streaming = get(new Agent(), port, '/stream')
    await arrived
    await Promise.all([stop(), expect(streaming).resolves.toMatchObject({ body: '0123' })])
  })

  it('ends what is still running when its time is over, and closes the connections', async () => {
    const { http, port } = await startServer()
    const [res] = (await once(httpGet({ port, path: '/endless' }), 'response')) as [IncomingMessage]
    res.on('error', () => undefined).resume()
    const calls = { ended: 0 }
    await withDeadline(
      'the server to stop',
      http.stop(300, async () => void (calls.ended += 1)),
    )
    expect(calls.ended).toBe(1)
    await waitForValue('the connection to be closed', () => res.destroyed, true)
  })

  it('keeps idle connections no longer than its linger time', async () => {
    const { port, stop } = await startServer({ stopLinger: 200 })
    await get(new Agent({ keepAlive: true }), port, '/2')
    await withDeadline('the server to stop', stop(60_000), 5000)
  })
})

describe('a connection', () => {
  const pipelined = (count: number, path = '/2') => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(count)

  it('gets the answers to pipelined requests in order, one request at a time', async () => {
    const running = { now: 0, most: 0 }
    const { port, stop } = await startServer({ stopLinger: 0 }, (req, res) => {
      running.most = Math.max(running.most, ++running.now)
      setTimeout(() => {
        running.now -= 1
        res.end(req.url)
      }, 5)
    })
    const socket = connect(port, '127.0.0.1')
    let received = ''
    socket.setEncoding('latin1').on('data', (text: string) => (received += text))
    socket.write(['/a', '/b', '/c'].map((path) => pipelined(1, path)).join(''))
    await waitUntil(
      'three answers',
      () => received,
      (text) => text.includes('/c'),
    )
    expect(received.match(/\/[abc]/g)).toEqual(['/a', '/b', '/c'])
    expect(running.most).toBe(1)
    socket.destroy()
    await stop()
  })

  it('is closed when it pipelines more than sixteen requests', async () => {
    const served = { count: 0 }
    const { port, stop } = await startServer({ stopLinger: 0 }, (_req, res) => {
      served.count += 1
      setTimeout(() => res.end('x'), 50)
    })
    const socket = connect(port, '127.0.0.1', () => socket.write(pipelined(1000)))
    socket.on('error', () => undefined).resume()
    await withDeadline('the connection to be closed', once(socket, 'close'))
    expect(served.count).toBeLessThan(3)
    await stop()
  })

  it('is closed when its client does not read a complete answer', async () => {
    const { http, port, stop } = await startServer({ writeTimeout: 200, stopLinger: 0 })
    const connections = () =>
      new Promise<number>((resolve) => http.server.getConnections((_error, count) => resolve(count)))
    const socket = connect(port, '127.0.0.1', () => socket.write(pipelined(1, '/50000000')))
    socket.on('error', () => undefined).pause()
    await waitForValue('the connection to be opened', connections, 1)
    await waitForValue('the connection to be closed', connections, 0)
    socket.destroy()
    await stop()
  })
})

describe('a process', { timeout: 120_000 }, () => {
  const ENV = { SVC_ROLE: 'gateway', SVC_DATABASE_URL: 'none', SVC_LOG_LEVEL: 'info' }

  /** Starts the service with a command of this machine's shell, and waits until it answers. */
  async function start(
    command: string,
    args: string[],
    given: SpawnOptions,
    onSpawn: (child: ChildProcess) => void = () => {},
  ) {
    const port = await freePort()
    const env = { ...START_ENV, SVC_PORT: String(port), ...ENV }
    const child = spawn(command, args, { cwd: ROOT, env, ...given })
    const ended = once(child, 'exit')
    onSpawn(child)
    const ask = () =>
      fetch(`http://127.0.0.1:${port}/healthz`).then(
        ({ status }) => status,
        () => 0,
      )
    await waitForValue('the service to answer', ask, 200, { timeoutMs: 60_000 })
    return { child, port, ask, ended }
  }

  // One process, because a start takes a second of CPU time.
  it('survives SIGHUP while it starts, and ends after SIGTERM when nobody reads its log', async () => {
    const hangUps = { sent: 0, stop: () => {} }
    const stdio: SpawnOptions = { stdio: ['ignore', 'pipe', 'ignore'] }
    const { child, port, ended } = await start(process.execPath, ['src/start.js', 'serve'], stdio, (starting) => {
      // Before its first line of code has run, Node itself would end.
      const timer = setInterval(() => {
        if (handlesHangUp(starting.pid)) hangUps.sent += Number(starting.kill('SIGHUP'))
      }, 5)
      hangUps.stop = () => clearInterval(timer)
    })
    hangUps.stop()
    // It starts listening long after its first line of code.
    expect(hangUps.sent).toBeGreaterThan(5)

    // More lines than a pipe holds.
    const agent = new Agent({ keepAlive: true, maxSockets: 50 })
    await Promise.all(Array.from({ length: 2000 }, () => get(agent, port, '/healthz')))
    agent.destroy()
    child.kill('SIGTERM')
    await withDeadline('the process to end', ended, 20_000)
  })

  it.each([
    ['a process', {}],
    ['several processes', { SVC_PROCESSES: '2' }],
  ])('SIGTERM ends %s during the wait for the database', async (_name, given) => {
    const database = createServer()
    const port = await listenOnLoopback(database)
    const connected = once(database, 'connection')
    const settings = { SVC_BASE_URL: 'http://localhost', SVC_DATABASE_URL: `postgresql://a:b@127.0.0.1:${port}/c` }
    const child = spawn(process.execPath, ['src/start.js', 'serve'], {
      cwd: ROOT,
      env: { ...START_ENV, SVC_PORT: '0', ...settings, ...given },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [output, ended] = [text(child.stdout), once(child, 'exit')]
    const [connection] = (await withDeadline('a connection', connected, 60_000)) as [Socket]
    const closed = once(
      connection.resume().on('error', () => undefined),
      'close',
    )
    child.kill('SIGTERM')
    expect(await withDeadline('the process to end', ended, 20_000)).toEqual([0, null])
    await withDeadline('the connection to be closed', closed)
    expect(await output).toContain('"service.stopping"')
    database.close()
  })

  it('SIGTERM as soon as the port is open ends a process in order', async () => {
    const port = await freePort()
    const child = spawn(process.execPath, ['src/start.js', 'serve'], {
      cwd: ROOT,
      env: { ...START_ENV, SVC_PORT: String(port), ...ENV },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [output, ended] = [text(child.stdout), once(child, 'exit')]
    while (child.exitCode === null && !(await canConnect(port))) await sleep(1)
    child.kill('SIGTERM')
    expect(await withDeadline('the process to end', ended, 20_000)).toEqual([0, null])
    expect(await output).toContain('"service.stopped"')
  })

  it('started with npm start ends when npm alone gets SIGTERM', async () => {
    const { child, ask, ended } = await start('npm', ['start'], { detached: true, stdio: 'ignore' })
    child.kill('SIGTERM')
    await withDeadline('npm to end', ended, 20_000)
    await waitForValue('the service to end', ask, 0, { timeoutMs: 20_000 })
  })
})

/** Whether a process has a handler for SIGHUP, which is signal 1 (proc(5), `SigCgt`). */
function handlesHangUp(pid = 0): boolean {
  const caught = /^SigCgt:\s*([0-9a-f]+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? '0'
  return (BigInt(`0x${caught}`) & 1n) === 1n
}

it('/readyz says 503 while a service drains, and other requests are served', async () => {
  const service = await startService({ env: { SVC_DRAIN_SECONDS: '1' } })
  const stopped = service[Symbol.asyncDispose]()
  const ready = await service.fetch('/readyz')
  expect([ready.status, ready.headers.get('connection'), await ready.json()]).toEqual([
    503,
    'close',
    { status: 'unavailable', database: 'ok' },
  ])
  expect((await service.fetch('/healthz')).status).toBe(200)
  await stopped
})
