import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { makeSecretReader } from '../../src/config/secrets.ts'
import { openBackends } from '../../src/gateway/backends/backends.ts'
import { testClock } from '../support/clock.ts'
import { newFolder } from '../support/process.ts'
import { recordingLog } from '../support/recording-log.ts'
import type { LogLine } from '../support/recording-log.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }))
afterEach(() => void vi.useRealTimers())

it('sends the new token five seconds after another program has renewed the file, and forgets nothing else', async () => {
  await using folder = await newFolder()
  const file = join(folder.path, 'token')
  writeFileSync(file, 'first-hour\n')
  const lines: LogLine[] = []
  const backends = openBackends({
    upstreams: { vendora: null, vendorb: null, vendorc: null },
    worker: null,
    readSecret: makeSecretReader({ KEY: 'key' }),
    adminBackends: null,
    connectTimeoutMs: 1000,
    outboundProxy: null,
    idleTimeoutMs: 1000,
    clock: testClock(),
    log: recordingLog(lines),
  })
  const row = { name: 'vertex', dialects: ['chat'], url: 'http://127.0.0.1:9', basePath: '/v1' } as const
  const other = { ...row, name: 'other', credential: { env: 'KEY', file: null, as: 'bearer' } } as const
  const renewed = { ...row, credential: { env: null, file, as: 'bearer' } } as const
  backends.apply({ backends: [renewed, other], adminBackends: [] })
  const kept = backends.find('other')
  backends.find('vertex')?.condition.learned.note('large', { betas: false })
  const sentAfter = (content: string) => {
    writeFileSync(file, content)
    vi.advanceTimersByTime(5_000)
    return backends.find('vertex')?.credential?.secret.reveal()
  }

  // The program may empty the file before it writes the new token.
  expect([sentAfter(''), sentAfter('second-hour\n'), sentAfter('second-hour\n')]).toEqual([
    'first-hour',
    'second-hour',
    'second-hour',
  ])
  expect(lines.filter(({ event }) => event === 'backend.credential_renewed')).toHaveLength(1)
  expect(backends.find('other')).toBe(kept)
  const vertex = backends.find('vertex')
  expect([vertex?.condition.learned.of('large'), vertex?.pool.closed]).toEqual([{ betas: false }, false])
  await backends.close()
})
