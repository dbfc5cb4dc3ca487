import { expect, it } from 'vitest'
import { openListedBackends } from '../../src/gateway/backends/listed.ts'
import type { BackendRow } from '../../src/gateway/backends/listed.ts'
import { testClock } from '../support/clock.ts'
import { recordingLog } from '../support/recording-log.ts'

const ROW: BackendRow = { name: 'eu', dialects: ['chat'], url: 'http://127.0.0.1:9', credential: null }

it('a backend that the directory loses after the gateway was closed does not end the process', async () => {
  const unhandled: unknown[] = []
  const onUnhandled = (error: unknown) => void unhandled.push(error)
  process.on('unhandledRejection', onUnhandled)
  const listed = openListedBackends({
    connectTimeoutMs: 1000,
    idleTimeoutMs: 1000,
    readSecret: () => ({ mistake: 'There is none.' }),
    adminBackends: null,
    clock: testClock(),
    log: recordingLog([]),
  })
  listed.apply([ROW])
  await listed.close()
  listed.apply([])
  await new Promise((resolve) => setImmediate(resolve))
  process.off('unhandledRejection', onUnhandled)
  expect(unhandled).toEqual([])
})
