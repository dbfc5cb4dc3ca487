/**
 * Batches of call events on the disk, for the time in which the database cannot be reached. They survive the end of the
 * process. Processes may share a directory: a batch that two of them save has the same id, so it is saved once.
 */
import { access, constants, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import type { Clock } from '../../kernel/clock.ts'
import { hasCode, unlessMissing } from '../../kernel/error-code.ts'
import { toIsoDay } from '../../kernel/formats/utc-text.ts'
import type { Logger } from '../../log.ts'
import { makePrivateDirectory, replaceFile } from '../../private-files.ts'
import { NO_USAGE } from '../dialects/tokens/usage.ts'
import type { CallEvent, CallFacts, CallResult, EventBatch } from './events.ts'

export type Spool = {
  /** Stores a batch; false: the directory is full, or it cannot be written. */
  write(batch: EventBatch): Promise<boolean>
  /** The oldest batch. A file that cannot be read is set aside. `failed`: the directory cannot be read now. */
  readOldest(): Promise<EventBatch | 'none' | 'failed'>
  /** Removes a batch that was saved; false: its file cannot be removed. */
  remove(batch: EventBatch): Promise<boolean>
}

/** About 600,000 events. */
const MAX_BYTES = 256 * 1024 * 1024

type Options = { readonly directory: string; readonly clock: Clock; readonly log: Logger; readonly maxBytes?: number }

/**
 * Opens the spool in a directory. The first look for batches creates it, so that one which cannot be used is reported
 * after a start, and not when the database is unavailable. Nothing here rejects.
 */
export function openSpool({ directory, clock, log, maxBytes = MAX_BYTES }: Options): Spool {
  /** The files of the batches that this process has read or written. */
  const files = new Map<string, string>()
  /** The names of files that can be neither read nor renamed. They are skipped until the next start. */
  const unrenamed = new Set<string>()
  let lastNumber = 0
  let isFailing = false

  async function store(batch: EventBatch): Promise<boolean> {
    await makePrivateDirectory(directory)
    const text = JSON.stringify(batch)
    if ((await sizeOf(directory)) + Buffer.byteLength(text) > maxBytes) return false
    // Names sort by age.
    lastNumber = Math.max(lastNumber + 1, clock.now().getTime())
    const file = path.join(directory, `${lastNumber}-${batch.id}.json`)
    await replaceFile(file, text)
    files.set(batch.id, file)
    return true
  }

  async function findOldest(): Promise<EventBatch | 'none'> {
    await makePrivateDirectory(directory)
    await access(directory, constants.W_OK)
    const names = (await readdir(directory)).filter((name) => name.endsWith('.json')).toSorted()
    for (const name of names) {
      const batch = unrenamed.has(name) ? null : await readOrSetAside(path.join(directory, name))
      if (batch) return batch
    }
    return 'none'
  }

  /** Null: another process has saved and removed the file, or it cannot be read. */
  async function readOrSetAside(file: string): Promise<EventBatch | null> {
    try {
      const text = await unlessMissing(readFile(file, 'utf8'), null)
      const batch = text === null ? null : toBatch(text)
      if (batch) files.set(batch.id, file)
      return batch
    } catch (err) {
      // Too many files are open; the file itself may be good.
      if (hasCode(err, 'EMFILE', 'ENFILE')) throw err
      await setAside(file, err)
      return null
    }
  }

  /** Renames a file, so that it is not read again and an operator finds it. */
  async function setAside(file: string, err: unknown): Promise<void> {
    const renamedTo = `${file}.unreadable`
    try {
      await unlessMissing(rename(file, renamedTo), undefined)
      log.error({ err, file, renamedTo }, 'call_events.spool_unreadable')
    } catch {
      unrenamed.add(path.basename(file))
      log.error({ err, file, renamedTo: null }, 'call_events.spool_unreadable')
    }
  }

  async function orReport<T, U>(work: Promise<T>, otherwise: U): Promise<T | U> {
    try {
      const done = await work
      isFailing = false
      return done
    } catch (err) {
      // Logged once, not at each attempt.
      if (!isFailing) log.warn({ err, directory }, 'call_events.spool_failed')
      isFailing = true
      return otherwise
    }
  }

  return {
    write: (batch) => orReport(store(batch), false),
    readOldest: () => orReport(findOldest(), 'failed' as const),
    async remove({ id }) {
      const file = files.get(id)
      files.delete(id)
      return file === undefined || orReport(removeFile(file), false)
    },
  }
}

async function removeFile(file: string): Promise<true> {
  await rm(file, { force: true })
  return true
}

async function sizeOf(directory: string): Promise<number> {
  let bytes = 0
  for (const name of await readdir(directory)) {
    const found = await unlessMissing(stat(path.join(directory, name)), null)
    bytes += found?.size ?? 0
  }
  return bytes
}

/** Throws when the text is not what `store` writes. */
function toBatch(text: string): EventBatch {
  // Written by `store`, in a directory that only this user can write to.
  const { id, events } = JSON.parse(text) as { readonly id: string; readonly events: readonly WrittenEvent[] }
  return { id, events: events.map(toEvent) }
}

/** An event as `store` of this or an earlier version wrote it. */
type WrittenEvent = { readonly at: string; readonly call: CallFacts } & (
  | { readonly kind: 'started'; readonly result: null }
  | { readonly kind: 'finished' | 'failed' | 'retried'; readonly result: WrittenResult }
)

/** Earlier versions did not write all members. */
type WrittenResult = Partial<CallResult> & Pick<CallResult, 'outcome' | 'status' | 'firstByteMs' | 'durationMs'>

function toEvent(written: WrittenEvent): CallEvent {
  const at = new Date(written.at)
  if (written.kind === 'started') return { ...written, at }
  return { ...written, at, result: toResult(written.result, at) }
}

/** What is missing is unknown. The day of spending limits is then the day in UTC. */
function toResult(written: WrittenResult, at: Date): CallResult {
  const { attempts = [], outcome, usage, isEstimated = false, costNanoUsd = null, spent } = written
  return {
    ...written,
    attempts,
    isSent: written.isSent ?? outcome !== 'unreachable',
    usage: { ...NO_USAGE, ...usage },
    isEstimated,
    costNanoUsd,
    spent: spent ?? { day: toIsoDay(at), nanoUsd: costNanoUsd ?? 0 },
  }
}
