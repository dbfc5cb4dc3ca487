import pg from 'pg'
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest'
import { listenOnPostgres } from '../../src/database/postgres/listening.ts'
import { startPostgres } from '../support/postgres.ts'
import type { TestPostgres } from '../support/postgres.ts'
import { waitForValue } from '../support/wait.ts'

let server: TestPostgres
let url: string

beforeAll(async () => {
  server = await startPostgres()
  url = (await server.newDatabase()).reveal()
}, 120_000)
afterEach(() => void vi.useRealTimers())
afterAll(() => server[Symbol.asyncDispose]())

/** Listens to the news; null stands for a connection that begins. */
function startListening() {
  const heard: (string | null)[] = []
  const listening = listenOnPostgres(
    () => ({ connectionString: url }),
    'news',
    (payload) => heard.push(payload),
  )
  return { heard, listening, [Symbol.dispose]: () => listening.close() }
}

async function notify(payload: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query("SELECT pg_notify('news', $1)", [payload])
  await client.end()
}

it('delivers notifications, also over the connection that replaces a lost one', async () => {
  using news = startListening()
  await waitForValue('the first connection', () => news.heard, [null])
  await notify('one')
  await waitForValue('a notification', () => news.heard, [null, 'one'])
  await server.breakConnections()
  await waitForValue('the next connection', () => news.heard, [null, 'one', null])
  await notify('two')
  await waitForValue('another notification', () => news.heard, [null, 'one', null, 'two'])
  expect(news.listening.isConnected()).toBe(true)
})

it('notices that the server does not answer any more', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  using news = startListening()
  await waitForValue('the connection', () => news.heard, [null])
  await server.freeze()
  await vi.advanceTimersByTimeAsync(15_000)
  await waitForValue('a lost connection', () => news.listening.isConnected(), false)
  server.thaw()
  await waitForValue('the next connection', () => news.heard, [null, null])
})

it('ends its connection when it is closed', async () => {
  const news = startListening()
  await waitForValue('the connection', () => news.heard, [null])
  news.listening.close()
  await waitForValue('the end', () => news.listening.isConnected(), false)
  await notify('late')
  expect(news.heard).toEqual([null])
})
