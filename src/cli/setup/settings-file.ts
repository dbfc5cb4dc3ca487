import { createHash } from 'node:crypto'
import { readFile, realpath, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import { unlessMissing } from '../../kernel/error-code.ts'
import { replaceFile } from '../../private-files.ts'
import { CommandError } from '../failures.ts'
import { unsetMembers } from './json-text.ts'
import type { SetMember } from './json-text.ts'
import { applySplices, revertInChanged, revertSplices } from './splice.ts'
import type { Splice } from './splice.ts'

/**
 * The record of what was written into a settings file, so that it can be removed again. Texts have one character for
 * each byte (latin1), so that a file that is not UTF-8 keeps all its bytes.
 */
type Written = {
  readonly file: string
  /**
   * Set when the file had no settings: its text, or null when there was no file. The splices then start from `base`.
   */
  readonly blank?: string | null
  readonly base: string
  readonly splices: readonly Splice[]
  /** The same changes by name, for a JSON file. */
  readonly members?: readonly SetMember[]
  /** SHA-256 of the file after the change. */
  readonly hash: string
}

/** How to add settings to the file of an agent. */
export type Edit = {
  readonly file: string
  /** The text to start from when the file is empty or missing: `{}` for JSON. */
  readonly emptyText: string
  /** Computes the changes that add the settings to a text. When it throws, nothing is written. */
  change(text: string): { readonly splices: readonly Splice[]; readonly members?: readonly SetMember[] }
}

/** Adds settings to the file of an agent. Removes earlier ones of this command first. */
export async function writeSettings(folder: string, agent: string, edit: Edit): Promise<void> {
  await removeSettings(folder, agent)
  const text = await readBytes(edit.file)
  const isBlank = text === null || text.trim() === ''
  const base = isBlank ? edit.emptyText : text
  const change = edit.change(base)
  const next = applySplices(base, change.splices)
  const blank = isBlank ? { blank: text } : {}
  const written: Written = { file: edit.file, ...blank, base: isBlank ? base : '', ...change, hash: hashOf(next) }
  // The record is saved first, so that whatever is written can be removed.
  await replaceFile(recordFile(folder, agent), JSON.stringify(written))
  await writeBytes(edit.file, next)
}

/** `isDone` is false when there was nothing to remove. `kept` names settings that stay, because they were changed. */
export type Removal = { readonly isDone: boolean; readonly kept: readonly string[] }

/** Removes what was written, and changes no other byte. */
export async function removeSettings(folder: string, agent: string): Promise<Removal> {
  const written = await readRecord(recordFile(folder, agent))
  if (!written) return { isDone: false, kept: [] }
  const text = await readBytes(written.file)
  const kept = text === null ? [] : await restore(written, text)
  await rm(recordFile(folder, agent), { force: true })
  return { isDone: text !== null, kept }
}

/** The file into which the settings of an agent were written; null when there are none. */
export async function findWritten(folder: string, agent: string): Promise<string | null> {
  return (await readRecord(recordFile(folder, agent)))?.file ?? null
}

/** Changes the file back. Returns the names of settings that stay, because their values were changed. */
async function restore(written: Written, text: string): Promise<readonly string[]> {
  const { file, blank, base } = written
  const { before, kept } = revert(written, text)
  const isBlankAgain = blank !== undefined && before === base
  if (isBlankAgain && blank === null) await rm(file)
  else await writeBytes(file, isBlankAgain ? (blank ?? '') : before)
  return kept
}

type Reverted = { readonly before: string; readonly kept: readonly string[] }

function revert({ file, splices, members, hash }: Written, text: string): Reverted {
  if (hashOf(text) === hash) return { before: revertSplices(text, splices), kept: [] }
  if (members) {
    const { text: before, kept } = unsetMembers(text, members)
    return { before, kept }
  }
  const before = revertInChanged(text, splices)
  if (before !== null) return { before, kept: [] }
  // The process ended after it had saved the record, before it wrote the file.
  if (!splices.some(({ added }) => text.includes(added))) return { before: text, kept: [] }
  throw new CommandError(
    `${file} was changed where svc wrote into it, so it was not changed. Remove these lines by hand:\n` +
      splices.map(({ added }) => Buffer.from(added, 'latin1').toString('utf8').trim()).join('\n'),
  )
}

const recordFile = (folder: string, agent: string) => path.join(folder, 'setup', `${agent}.json`)

async function readRecord(file: string): Promise<Written | null> {
  const text = await readBytes(file)
  // Written by this module.
  return text === null ? null : (JSON.parse(Buffer.from(text, 'latin1').toString('utf8')) as Written)
}

async function readBytes(file: string): Promise<string | null> {
  return unlessMissing(readFile(file, 'latin1'), null)
}

/** Replaces the file atomically and keeps its mode. For a link, replaces the file that it points to. */
async function writeBytes(file: string, text: string): Promise<void> {
  const real = await realpath(file).catch(() => file)
  const mode = await stat(real).then(
    (found) => found.mode & 0o777,
    () => 0o600,
  )
  await replaceFile(real, Buffer.from(text, 'latin1'), mode)
}

function hashOf(text: string): string {
  return createHash('sha256').update(text, 'latin1').digest('hex')
}

/** A JSON value whose strings have one character for each byte of their UTF-8, as in `Written`. */
export function toByteValue<T>(value: T): T {
  // Encoding changes only characters inside strings, so it is the same value.
  return JSON.parse(toBytes(JSON.stringify(value))) as T
}

/** Text with one character for each byte of its UTF-8. */
export function toBytes(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1')
}
