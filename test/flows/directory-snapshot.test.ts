import { describe, expect, it } from 'vitest'
import { makeAnswerOrLastKnown } from '../../src/database/last-known.ts'
import { openSnapshotCache, withTeams } from '../../src/directory/snapshot.ts'
import type { DirectorySnapshot } from '../../src/directory/snapshot.ts'

describe('the snapshot cache of the directory', () => {
  const MAX_AGE_MS = 5000

  function cached() {
    const state = { now: new Date('2026-01-05T09:00:00Z'), loads: 0, fail: false, name: 'first', failures: 0 }
    const load = async (): Promise<DirectorySnapshot> => {
      state.loads++
      if (state.fail) throw new Error('unavailable')
      return withTeams([{ organization: 'acme', name: 'core', defaultModel: state.name, timeZone: 'UTC', models: [] }])
    }
    const onFailure = () => void state.failures++
    const cache = openSnapshotCache({
      load,
      onLoad: () => {},
      clock: { now: () => state.now },
      maxAgeMs: MAX_AGE_MS,
      onFailure,
      answerOrLastKnown: makeAnswerOrLastKnown(),
    })
    const ask = () => cache.team('@acme/core')
    const pass = (ms: number) => (state.now = new Date(state.now.getTime() + ms))
    return { state, cache, ask, pass }
  }

  it('loads once for concurrent first reads, then answers without waiting', async () => {
    const { state, cache, ask } = cached()
    await Promise.all([ask(), ask(), ask()])
    expect(state.loads).toBe(1)
    expect(ask()).toMatchObject({ timeZone: 'UTC', defaultModel: 'first' })
    expect(cache.team('@acme/unknown')).toBeNull()
    expect(state.loads).toBe(1)
  })

  it('reloads in the background once the snapshot has half of its greatest age', async () => {
    const { state, cache, ask, pass } = cached()
    await ask()
    state.name = 'second'
    pass(MAX_AGE_MS / 2 - 1)
    expect(ask()).toMatchObject({ defaultModel: 'first' })
    expect(state.loads).toBe(1)

    pass(1)
    expect(ask()).toMatchObject({ defaultModel: 'first' })
    expect(state.loads).toBe(2)
    expect(ask()).toMatchObject({ defaultModel: 'first' })
    expect(state.loads).toBe(2)
    await cache.reload()
    expect(ask()).toMatchObject({ defaultModel: 'second' })
  })

  it('loads again after a change that was made while it was loading', async () => {
    const { state, cache, ask, pass } = cached()
    await ask()
    pass(MAX_AGE_MS / 2)
    expect(ask()).toMatchObject({ defaultModel: 'first' })
    state.name = 'second'
    await cache.reload()
    expect(ask()).toMatchObject({ defaultModel: 'second' })
  })

  it('waits for a reload when the snapshot has its greatest age', async () => {
    const { state, ask, pass } = cached()
    await ask()
    state.name = 'second'
    pass(MAX_AGE_MS)
    expect(await ask()).toMatchObject({ defaultModel: 'second' })
  })

  it('takes a snapshot to be as old as the beginning of its load, because a later change may be missing', async () => {
    const { state, ask, pass } = cached()
    const first = ask()
    pass(MAX_AGE_MS)
    await first
    state.name = 'second'
    expect(await ask()).toMatchObject({ defaultModel: 'second' })
  })

  it('reloads when the clock was set back', async () => {
    const { state, ask, pass } = cached()
    await ask()
    state.name = 'second'
    pass(-3_600_000)
    expect(await ask()).toMatchObject({ defaultModel: 'second' })
  })

  it('serves the last snapshot while loading fails, without waiting for each failure, and reports the first one', async () => {
    const { state, cache, ask, pass } = cached()
    await ask()
    state.fail = true
    pass(3_600_000)
    expect(await ask()).toMatchObject({ defaultModel: 'first' })
    pass(3_600_000)
    expect(ask()).toMatchObject({ defaultModel: 'first' })
    await cache.reload()
    expect(state).toMatchObject({ loads: 4, failures: 1 })

    state.fail = false
    state.name = 'second'
    await cache.reload()
    expect(ask()).toMatchObject({ defaultModel: 'second' })
    state.fail = true
    await cache.reload()
    expect(state.failures).toBe(2)
  })

  it('rejects while the first load fails, and then loads again', async () => {
    const { state, ask } = cached()
    state.fail = true
    await expect(ask()).rejects.toThrow('unavailable')
    state.fail = false
    expect(await ask()).toMatchObject({ defaultModel: 'first' })
  })
})
