import { createHash } from 'node:crypto'
import { mkdir, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { CommandError } from '../failures.ts'
import { replaceFile } from '../profiles.ts'
import { applySplices, revertInChanged, revertSplices } from './splice.ts'
import type { Splice } from './splice.ts'

/**
 * What was written into a settings file, so that it can be taken out again. Texts have a character for each byte (latin1): nothing is lost
 * of a file that is not UTF-8.
 */
type Written = {
  readonly file: string
  /** The file that the splices start from, where it had nothing in it; null where there was no file. */
  readonly blank?: string | null
  readonly base: string
  readonly splices: readonly Splice[]
  /** SHA-256 of the file as it was left. */
  readonly hash: string
}

/** How an agent's settings go into the text of its file. */
export type Edit = {
  readonly file: string
  /** What an empty file is taken for: `{}` where the settings are JSON. */
  readonly emptyText: string
  /** The splices that add the settings to a text. May throw: then nothing is written. */
  splices(text: string): readonly Splice[]
}

/** Adds settings to the file of an agent; settings that were written before are taken out first. */
export async function writeSettings(folder: string, agent: string, edit: Edit): Promise<void> {
  await removeSettings(folder, agent)
  const text = await readBytes(edit.file)
  const isBlank = text === null || text.trim() === ''
  const base = isBlank ? edit.emptyText : text
  const splices = edit.splices(base)
  const next = applySplices(base, splices)
  const written: Written = {
    file: edit.file,
    ...(isBlank && { blank: text }),
    base: isBlank ? base : '',
    splices,
    hash: hashOf(next),
  }
  // The record comes first: what is written can then always be taken out.
  await replaceFile(recordFile(folder, agent), JSON.stringify(written))
  await writeBytes(edit.file, next)
}

/** Takes out what was written, and leaves every other byte as it is. False when nothing had been written. */
export async function removeSettings(folder: string, agent: string): Promise<boolean> {
  const written = await readRecord(recordFile(folder, agent))
  if (!written) return false
  const text = await readBytes(written.file)
  if (text !== null) await restore(written, text)
  await rm(recordFile(folder, agent), { force: true })
  return text !== null
}

/** The file into which the settings of an agent were written; null when they were not. */
export async function findWritten(folder: string, agent: string): Promise<string | null> {
  return (await readRecord(recordFile(folder, agent)))?.file ?? null
}

async function restore({ file, blank, base, splices, hash }: Written, text: string): Promise<void> {
  const before = hashOf(text) === hash ? revertSplices(text, splices) : revertInChanged(text, splices)
  // The record was made, and the process ended before the file was written.
  const wasNeverWritten = before === null && !splices.some(({ added }) => text.includes(added))
  if (wasNeverWritten) return
  if (before === null) {
    throw new CommandError(
      `${file} was changed where svc wrote into it, so it is left as it is. Take these lines out by hand:\n` +
        splices.map(({ added }) => Buffer.from(added, 'latin1').toString('utf8').trim()).join('\n'),
    )
  }
  const isBlankAgain = blank !== undefined && before === base
  if (isBlankAgain && blank === null) await rm(file)
  else await writeBytes(file, isBlankAgain ? (blank ?? '') : before)
}

const recordFile = (folder: string, agent: string) => path.join(folder, 'setup', `${agent}.json`)

async function readRecord(file: string): Promise<Written | null> {
  const text = await readBytes(file)
  // Written by this module.
  return text === null ? null : (JSON.parse(Buffer.from(text, 'latin1').toString('utf8')) as Written)
}

async function readBytes(file: string): Promise<string | null> {
  return readFile(file, 'latin1').catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    throw error
  })
}

/** Replaces the file as a whole, with its mode; where it is a link, the file that it points to. */
async function writeBytes(file: string, text: string): Promise<void> {
  const real = await realpath(file).catch(() => file)
  const mode = await stat(real).then(
    (found) => found.mode & 0o777,
    () => 0o600,
  )
  await mkdir(path.dirname(real), { recursive: true })
  const fresh = `${real}.${process.pid}.svc-tmp`
  await writeFile(fresh, text, { encoding: 'latin1', mode })
  await rename(fresh, real)
}

function hashOf(text: string): string {
  return createHash('sha256').update(text, 'latin1').digest('hex')
}

/** Text of ours for a file whose characters are bytes. */
export function toBytes(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1')
}
