import { once } from 'node:events'
import { connect } from 'node:net'
import type { AddressInfo } from 'node:net'
import express from 'express'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { openSessionReader } from '../../src/control/agent-sessions/reader.ts'
import { NDJSON } from '../../src/control/agent-sessions/rules.ts'
import type { StoredEvent } from '../../src/control/agent-sessions/rules.ts'
import { makeSessionStreams } from '../../src/control/agent-sessions/streams.ts'
import type { OnNotice } from '../../src/database/client.ts'
import { systemClock } from '../../src/kernel/clock.ts'
import { waitForValue } from '../support/wait.ts'

const session = { team: '@acme/core', accountId: 'account-1', sessionId: 'run-1' }
const access = { ...session, sessionKind: 'device' } as const

/** More than the buffers of a connection hold. */
const LONG_MODEL = 'm'.repeat(16 * 1024 * 1024)

const eventOf = (id: bigint): StoredEvent => ({
  ...{ id, kind: 'started', at: new Date(0), requestId: 'req_1', dialect: 'chat', model: LONG_MODEL },
  ...{ servedBy: 'local-engine', attempts: null, outcome: null, status: null, firstByteMs: null, durationMs: null },
  ...{ inputTokens: null, cachedTokens: null, outputTokens: null, reasoningTokens: null, costNanoUsd: null },
})

/** Serves one stream to a caller that does not read. */
async function startUnreadStream() {
  const rows = [eventOf(1n)]
  const given = {
    notify: (() => undefined) as OnNotice,
    endAccess: () => {},
    hasUnread: () => false,
    errors: [] as unknown[],
    reads: 0,
  }
  const reader = openSessionReader({
    async findEvents(positions) {
      given.reads += 1
      return positions.map(({ after }) => rows.filter(({ id }) => id > after))
    },
    findNewestId: async () => rows.at(-1)?.id ?? 0n,
    listen(onNotice) {
      given.notify = onNotice
      return { isConnected: () => true, close: () => undefined }
    },
    onFailure: () => undefined,
  })
  const watch = (_: unknown, onEnd: () => void) => {
    given.endAccess = onEnd
    return () => undefined
  }
  const streams = makeSessionStreams({ reader, access: { watch }, clock: systemClock })
  const app = express().get('/', (_req, res) => {
    res.on('error', (error) => given.errors.push(error))
    given.hasUnread = () => res.writableLength > 0
    streams.open(res, { session, after: 0n, format: NDJSON, access })
  })
  const server = app.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const caller = connect((server.address() as AddressInfo).port, '127.0.0.1').pause()
  caller.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
  return Object.assign(given, {
    add: (id: bigint) => rows.push(eventOf(id)),
    [Symbol.dispose]() {
      caller.destroy()
      reader.close()
      server.close()
    },
  })
}

describe('a stream of session events whose caller does not read', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }))
  afterEach(() => void vi.useRealTimers())

  it('gets neither a heartbeat nor an event once its access has ended', async () => {
    using stream = await startUnreadStream()
    await waitForValue('bytes that the caller has not read', () => stream.hasUnread(), true)
    stream.endAccess()
    stream.add(2n)
    stream.notify(null)
    await vi.advanceTimersByTimeAsync(20_000)
    await new Promise(setImmediate)
    expect(stream).toMatchObject({ errors: [], reads: 1 })
  })
})
