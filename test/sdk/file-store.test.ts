import { mkdir, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { fileTokenStore } from '../../generated/sdk/node.js'
import { atOnce } from '../support/requests.ts'
import { waitUntil } from '../support/wait.ts'

const TOKENS = {
  account: 'ada@example.com',
  team: '@acme/core',
  deviceId: 'laptop-1',
  accessToken: 'a1',
  refreshToken: 'r1',
  expiresAt: '2026-11-21T09:15:00Z',
}

let folder: string
let file: string

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'svc-store-'))
  file = path.join(folder, 'deep/er/tokens.json')
})
afterEach(async () => {
  vi.useRealTimers()
  await rm(folder, { recursive: true })
})

/** A token that no header can carry. */
const DAMAGED_TOKEN = '{"account":"a","accessToken":"\u0000\u2192","refreshToken":"r"}'

describe('fileTokenStore', () => {
  it('loads null before tokens are saved and after they are removed', async () => {
    const store = fileTokenStore(file)
    expect(await store.load()).toBeNull()
    await store.save(TOKENS)
    expect(await fileTokenStore(file).load()).toEqual(TOKENS)
    await store.save(null)
    expect(await store.load()).toBeNull()
  })

  it('makes the file readable for its owner only, and leaves no other file behind', async () => {
    const store = fileTokenStore(file)
    await store.exclusively(() => store.save(TOKENS))
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect((await stat(path.dirname(file))).mode & 0o077).toBe(0)
    expect(await readdir(path.dirname(file))).toEqual(['tokens.json'])
  })

  it('makes a file private again that others could read', async () => {
    const store = fileTokenStore(file)
    await store.save(TOKENS)
    await writeFile(file, '{}', { mode: 0o644 })
    await store.save(TOKENS)
    expect((await stat(file)).mode & 0o777).toBe(0o600)
  })

  it.each(['', '{"accessToken":', '[]', 'null', '{"accessToken":"a"}', DAMAGED_TOKEN])(
    'names the file when it is damaged: %j',
    async (text) => {
      const store = fileTokenStore(file)
      await store.save(TOKENS)
      await writeFile(file, text)
      await expect(store.load()).rejects.toThrow(file)
    },
  )

  it('runs one task at a time, also after a task has failed', async () => {
    let running = 0
    let most = 0
    const results = await atOnce(8, (index) =>
      fileTokenStore(file)
        .exclusively(async () => {
          most = Math.max(most, ++running)
          // Longer than the others wait before they try again.
          await sleep(30)
          running--
          if (index === 0) throw new Error('failed')
          return index
        })
        .catch(() => 'failed'),
    )
    expect(most).toBe(1)
    expect(results.toSorted()).toEqual([1, 2, 3, 4, 5, 6, 7, 'failed'])
  })

  it.each([
    ['has ended', -60_000],
    ['had ended before the clock was set back', 3_600_000],
  ])('lets one process at a time take over the lock of a process that %s', async (_, offsetMs) => {
    const store = fileTokenStore(file)
    await store.save(TOKENS)
    await writeFile(`${file}.lock`, 'a process that died')
    const touched = new Date(Date.now() + offsetMs)
    await utimes(`${file}.lock`, touched, touched)
    let running = 0
    let most = 0
    await atOnce(4, () =>
      store.exclusively(async () => {
        most = Math.max(most, ++running)
        await readFile(file)
        running--
      }),
    )
    expect(most).toBe(1)
    expect(await readdir(path.dirname(file))).toEqual(['tokens.json'])
  })

  it('touches its lock every two seconds, so that no other process takes it over during a long task', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const lock = `${file}.lock`
    await fileTokenStore(file).exclusively(async () => {
      await utimes(lock, 0, 0)
      vi.advanceTimersByTime(2_000)
      const ageMs = async () => Date.now() - (await stat(lock)).mtimeMs
      await waitUntil('a touched lock', ageMs, (ms) => ms < 10_000)
    })
    expect(vi.getTimerCount()).toBe(0)
  })

  it('gives the result of a task whose lock another process has taken over meanwhile', async () => {
    const store = fileTokenStore(file)
    expect(await store.exclusively(() => rm(`${file}.lock`).then(() => 'done'))).toBe('done')
    expect(await store.exclusively(() => writeFile(`${file}.lock`, 'another process').then(() => 'done'))).toBe('done')
    expect(await readFile(`${file}.lock`, 'utf8')).toBe('another process')
  })

  it('leaves no other file behind where it cannot write its file', async () => {
    await mkdir(file, { recursive: true })
    await expect(fileTokenStore(file).save(TOKENS)).rejects.toMatchObject({ path: file })
    expect(await readdir(path.dirname(file))).toEqual(['tokens.json'])
  })

  it('rejects where the lock of a process that has ended cannot be moved away', async () => {
    // The name of the lock is short enough for a file system, and the name that it would be moved to is too long.
    const long = path.join(folder, 'x'.repeat(245))
    await writeFile(`${long}.lock`, 'a process that died')
    await utimes(`${long}.lock`, 0, 0)
    await expect(fileTokenStore(long).exclusively(() => Promise.resolve())).rejects.toMatchObject({
      code: 'ENAMETOOLONG',
      syscall: 'rename',
    })
  })
})
