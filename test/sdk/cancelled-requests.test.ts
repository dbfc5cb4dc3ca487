import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest'
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
beforeAll(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => {
  server.close()
  server.closeAllConnections()
})

async function readStream(signal: AbortSignal): Promise<void> {
  const client = createClient({ baseUrl, tokens: memoryTokenStore(TOKENS) })
  const chunks = streamChatCompletion(client, { model: 'svc/fast', messages: [] }, { signal })
  for await (const _ of chunks) continue
}

it.each<[string, (signal: AbortSignal) => Promise<unknown>]>([
  ['a request', (signal) => createClient({ baseUrl }).GET('/v1/models', { signal })],
  [
    'a request of a signed-in device',
    (signal) => createClient({ baseUrl, tokens: memoryTokenStore(TOKENS) }).GET('/v1/models', { signal }),
  ],
  ['a request of the command', (signal) => createClient({ baseUrl, fetch: sendRequest }).GET('/v1/models', { signal })],
  ['a stream', readStream],
])('%s can be cancelled after garbage was collected', async (_name, start) => {
  const controller = new AbortController()
  const received = once(server, 'request')
  const call = start(controller.signal)
  await received
  await collectGarbage()
  controller.abort()
  await expect(withDeadline('the call to end', call)).rejects.toMatchObject({ name: 'AbortError' })
})

it('a refresh keeps its time limit after garbage was collected', async () => {
  const limit = new AbortController()
  const timeout = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(limit.signal)
  onTestFinished(() => timeout.mockRestore())
  const received = once(server, 'request')
  const renewal = openSession({ baseUrl, tokens: memoryTokenStore(TOKENS) }).renew(TOKENS.accessToken)
  await received
  await collectGarbage()
  limit.abort(new Error('The time is over.'))
  await expect(withDeadline('the refresh to end', renewal)).rejects.toThrow('The time is over.')
})
