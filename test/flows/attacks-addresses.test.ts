/** Backends of admins whose names resolve to addresses that the operator has not listed for them. */
import tls from 'node:tls'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { AdminBackend } from '../../src/directory/admin-backends.ts'
import { openListedBackends } from '../../src/gateway/backends/listed.ts'
import { makeSharedLookup } from '../../src/gateway/backends/shared-lookup.ts'
import { sendAndWait } from '../../src/gateway/exchange/send.ts'
import type { BackendRequest } from '../../src/gateway/exchange/send.ts'
import { readAllowedHosts } from '../../src/kernel/network/allowed-hosts.ts'
import { systemClock } from '../../src/kernel/clock.ts'
import { makeCipher, newEncryptionKey } from '../../src/kernel/credentials/cipher.ts'
import type { OutboundProxy } from '../../src/kernel/network/outbound-proxy.ts'
import { makeCertificate } from '../support/network/certificate.ts'
import { recordingLog } from '../support/recording-log.ts'
import { startUpstream } from '../support/upstream.ts'
import type { TestUpstream } from '../support/upstream.ts'

let server: TestUpstream
beforeAll(async () => {
  const certificate = makeCertificate()
  tls.setDefaultCACertificates([...tls.getCACertificates('default'), certificate.cert])
  server = await startUpstream(undefined, certificate)
})
afterAll(() => server[Symbol.asyncDispose]())

/** Connections to backends of admins do not go through a proxy: it would look up names itself. */
const UNUSABLE_PROXY: OutboundProxy = { origin: 'http://127.0.0.1:9', authorization: null, isFor: () => true }

/** Calls the server as a backend of an admin, by its name `localhost`, which resolves to `127.0.0.1`. */
async function callWith(list: string) {
  const hosts = readAllowedHosts(`${server.url.host}, ${list}`)
  if (!hosts) throw new Error(`${list} was not read.`)
  const listed = openListedBackends({
    ...{ connectTimeoutMs: 2000, idleTimeoutMs: 2000, lookup: makeSharedLookup(), outboundProxy: UNUSABLE_PROXY },
    readSecret: () => ({ mistake: 'There is no secret.' }),
    adminBackends: { hosts, cipher: makeCipher([newEncryptionKey()]) },
    clock: systemClock,
    log: recordingLog([]),
  })
  const row: AdminBackend = {
    name: 'acme/core/inner',
    teamId: 'team-1',
    dialects: ['chat'],
    url: server.url.origin,
    basePath: '/v1',
    credential: null,
  }
  const [backend] = listed.apply([row])
  if (!backend) throw new Error('The backend was not opened.')
  const request: BackendRequest = { method: 'GET', path: '/', headers: [], body: null }
  const reply = await sendAndWait(backend.pool, request, { timeoutMs: 2000, maxBytes: 10_000 })
  await listed.close()
  return reply.kind === 'unreachable' ? reply.reason : reply.kind
}

it('a name does not reach a listed address at another port than the one that is listed with it', async () => {
  expect(await callWith('127.0.0.1')).toBe('ERR_ADDRESS_NOT_ALLOWED')
  expect(await callWith('127.0.0.1:1')).toBe('ERR_ADDRESS_NOT_ALLOWED')
  expect(server.calls).toHaveLength(0)
})

it('a name reaches a listed address with the same port, and a listed range', async () => {
  expect(await callWith(`127.0.0.1:${server.url.port}`)).toBe('answered')
  expect(await callWith('127.0.0.0/8')).toBe('answered')
})
