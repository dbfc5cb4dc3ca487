import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { createClient, memoryTokenStore, openSession, streamChatCompletion } from '../../generated/sdk/index.js'
import { sendRequest } from '../../src/cli/deployment/http.ts'
import { collectGarbage } from '../support/garbage.ts'
import { withDeadline } from '../support/wait.ts'

const TOKENS = {
  account: 'ada@example.com',
  team: '@acme/core',
  deviceId: 'laptop',
  accessToken: 'old',
  refreshToken: 'used once',
  expiresAt: '2026-11-21T12:00:00.000Z',
}

// It answers model calls with the beginning of a stream, and nothing else.
const server = createServer((req, res) => {
  if (req.url === '/v1/chat/completions') {
    res.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: {"choices":[]}\n\n')
  }
})
let baseUrl = ''

type Call = (signal: AbortSignal) => Promise<unknown>

const CALLS: readonly (readonly [name: string, start: Call])[] = [
  ['a request', (signal) => createClient({ baseUrl }).GET('/v1/models', { signal })],
  [
    'a request of a signed-in device',
    (signal) => createClient({ baseUrl, tokens: memoryTokenStore(TOKENS) }).GET('/v1/models', { signal }),
  ],
  ['a request of the command', (signal) => createClient({ baseUrl, fetch: sendRequest }).GET('/v1/models', { signal })],
  ['a stream', readStream],
]
const REFRESH = 'a refresh'

type Pending = { readonly controller: AbortController; readonly ended: Promise<unknown> }

const pending = new Map<string, Pending>()

// Garbage is collected once for all tests, because that takes seconds of CPU time where other files have run before.
beforeAll(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  for (const [name, start] of [...CALLS, [REFRESH, startRefresh] as const]) pending.set(name, await whenReceived(start))
  await collectGarbage()
})
afterAll(() => {
  server.close()
  server.closeAllConnections()
})

/** Starts a call, and resolves when the server has its request, which it never answers. */
async function whenReceived(start: Call): Promise<Pending> {
  const controller = new AbortController()
  const received = once(server, 'request')
  const ended = start(controller.signal)
  await received
  return { controller, ended }
}

async function readStream(signal: AbortSignal): Promise<void> {
  const client = createClient({ baseUrl, tokens: memoryTokenStore(TOKENS) })
  const chunks = streamChatCompletion(client, { model: 'svc/fast', messages: [] }, { signal })
  for await (const _ of chunks) continue
}

/** Starts a refresh whose time limit is this signal. */
function startRefresh(limit: AbortSignal): Promise<unknown> {
  const timeout = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(limit)
  const renewal = openSession({ baseUrl, tokens: memoryTokenStore(TOKENS) }).renew(TOKENS.accessToken)
  return renewal.finally(() => timeout.mockRestore())
}

/** Aborts a call; resolves when it has ended. */
function abort(name: string, reason?: Error): Promise<unknown> {
  const call = pending.get(name)
  if (!call) throw new Error(`No call has the name ${name}.`)
  call.controller.abort(reason)
  return withDeadline('the call to end', call.ended)
}

it.each(CALLS)('%s can be cancelled after garbage was collected', async (name) => {
  await expect(abort(name)).rejects.toMatchObject({ name: 'AbortError' })
})

it('a refresh keeps its time limit after garbage was collected', async () => {
  await expect(abort(REFRESH, new Error('The time is over.'))).rejects.toThrow('The time is over.')
})
