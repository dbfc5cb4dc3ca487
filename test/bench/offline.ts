/** How long callers wait for the local worker while the upstreams cannot be reached. */
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Processes, Server } from './processes.ts'

/** More than the service waits between two probes of an upstream. */
const CALLS = 100
const PAUSE_MS = 200

/** More than the queue of the port holds. */
const QUEUED_CONNECTIONS = 8

/** Opens a port at which each new connection waits until its timeout. */
export async function openSilentPort(processes: Processes, port: number): Promise<void> {
  const child = processes.start('test/bench/silent-port.ts', [String(port)])
  while (!(await canConnect(port))) await sleep(50)
  child.kill('SIGSTOP')
  for (let opened = 0; opened < QUEUED_CONNECTIONS; opened += 1) connect(port, '127.0.0.1').on('error', () => {})
}

function canConnect(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false))
    socket.on('connect', () => socket.destroy())
  })
}

/** The times from a call to its first token in milliseconds: that of the first call, and the longest of all others. */
export async function offlineCalls(server: Server): Promise<{ readonly first: number; readonly longest: number }> {
  const first = await firstTokenMs(server)
  let longest = 0
  for (let call = 1; call < CALLS; call += 1) {
    await sleep(PAUSE_MS)
    longest = Math.max(longest, await firstTokenMs(server))
  }
  return { first, longest }
}

async function firstTokenMs({ origin, headers }: Server): Promise<number> {
  const body = JSON.stringify({ model: 'any/offline', stream: true, messages: [{ role: 'user', content: 'hi' }] })
  const startedAt = performance.now()
  const answer = await fetch(`${origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body,
  })
  const reader = answer.body?.getReader()
  for (let text = ''; reader && !text.includes('"content"');) {
    const { done, value } = await reader.read()
    if (done) throw new Error(`A call without upstreams was answered ${answer.status}: ${text}`)
    text += Buffer.from(value).toString()
  }
  const ms = performance.now() - startedAt
  await reader?.cancel()
  return ms
}
