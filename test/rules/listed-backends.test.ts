import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { expect, it } from 'vitest'
import { openListedBackends } from '../../src/gateway/backends/listed.ts'
import type { BackendRow } from '../../src/gateway/backends/listed.ts'
import { makeSharedLookup } from '../../src/gateway/backends/shared-lookup.ts'
import { sendAndWait } from '../../src/gateway/exchange/send.ts'
import type { BackendRequest } from '../../src/gateway/exchange/send.ts'
import { readAllowedHosts } from '../../src/kernel/network/allowed-hosts.ts'
import { makeCipher, newEncryptionKey } from '../../src/kernel/credentials/cipher.ts'
import type { ReadSecret } from '../../src/kernel/credentials/secret-source.ts'
import { Secret } from '../../src/kernel/secret.ts'
import { testClock } from '../support/clock.ts'
import { UNREACHABLE } from '../support/outcomes.ts'
import { recordingLog } from '../support/recording-log.ts'

const ROW: BackendRow = { name: 'eu', dialects: ['chat'], url: 'http://127.0.0.1:9', basePath: '/v1', credential: null }

const NEEDS = {
  connectTimeoutMs: 1000,
  outboundProxy: null,
  idleTimeoutMs: 1000,
  lookup: makeSharedLookup(),
  readSecret: () => ({ mistake: 'There is none.' }),
  clock: testClock(),
  log: recordingLog([]),
}

it('a backend that the directory loses after the gateway was closed does not end the process', async () => {
  const unhandled: unknown[] = []
  const onUnhandled = (error: unknown) => void unhandled.push(error)
  process.on('unhandledRejection', onUnhandled)
  const listed = openListedBackends({ ...NEEDS, adminBackends: null })
  listed.apply([ROW])
  await listed.close()
  listed.apply([])
  await new Promise((resolve) => setImmediate(resolve))
  process.off('unhandledRejection', onUnhandled)
  expect(unhandled).toEqual([])
})

it('a backend that the directory has lost is not probed when its last call fails', () => {
  const listed = openListedBackends({ ...NEEDS, adminBackends: null })
  const conditions = listed.apply([ROW]).map(({ condition }) => condition)
  listed.apply([])
  for (const condition of conditions) condition.noteEnd('large', UNREACHABLE)
  // It is probed for as long as it counts as unreachable.
  expect(conditions.map((condition) => condition.isReachable())).toEqual([true])
})

it('a backend keeps its credential while the file cannot be read, also when another one gets a new credential', () => {
  const files = new Map([
    ['/a', 'token-a'],
    ['/b', 'token-b'],
  ])
  const readSecret: ReadSecret = ({ file }) => {
    const content = files.get(file ?? '')
    return content === undefined ? { mistake: 'names a file that is missing' } : { secret: new Secret(content) }
  }
  const rows = ['/a', '/b'].map((file) => ({ ...ROW, name: file, credential: { env: null, file, as: 'bearer' } }))
  const listed = openListedBackends({ ...NEEDS, readSecret, adminBackends: null })
  const sent = () => listed.apply(rows).map(({ credential }) => credential?.secret.reveal())
  expect(sent()).toEqual(['token-a', 'token-b'])
  files.delete('/a')
  files.set('/b', 'token-c')
  expect([listed.hasRenewedCredential(), sent()]).toEqual([true, ['token-a', 'token-c']])
  expect([listed.hasRenewedCredential(), listed.listUnusable()]).toEqual([false, []])
})

it('only a backend of the operator is connected to at an address that admins may not use', async () => {
  let connections = 0
  const server = createServer((socket) => {
    connections += 1
    socket.destroy()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const host = `localhost:${(server.address() as AddressInfo).port}`
  const hosts = readAllowedHosts(host)
  if (!hosts) throw new Error(`${host} is no list of hosts.`)
  const listed = openListedBackends({ ...NEEDS, adminBackends: { hosts, cipher: makeCipher([newEncryptionKey()]) } })
  const row = { ...ROW, credential: null, url: `https://${host}` }
  const ofAdmin = { ...row, name: 'acme/core/own', teamId: '01939c1e-6a5b-7c3d-8e4f-0a1b2c3d4e5f' }

  const replies = []
  for (const { pool } of listed.apply([ofAdmin, row])) {
    const request: BackendRequest = { method: 'GET', path: '/', headers: [], body: null }
    replies.push(await sendAndWait(pool, request, { timeoutMs: 2000, maxBytes: 100 }))
    replies.push(connections)
  }
  expect(replies).toEqual([
    { kind: 'unreachable', reason: 'ERR_ADDRESS_NOT_ALLOWED' },
    0,
    expect.objectContaining({ kind: 'failed' }),
    1,
  ])
  await listed.close()
  server.close()
})
