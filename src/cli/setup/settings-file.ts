import { createHash } from 'node:crypto'
import { readFile, realpath, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import { CommandError } from '../failures.ts'
import { replaceFile } from '../../private-files.ts'
import { unsetMembers } from './json-text.ts'
import type { SetMember } from './json-text.ts'
import { applySplices, revertInChanged, revertSplices } from './splice.ts'
import type { Splice } from './splice.ts'

/**
 * What was written into a settings file, so that it can be taken out again. Texts have a character for each byte
 * (latin1): nothing is lost of a file that is not UTF-8.
 */
type Written = {
  readonly file: string
  /** The file that the splices start from, where it had nothing in it; null where there was no file. */
  readonly blank?: string | null
  readonly base: string
  readonly splices: readonly Splice[]
  /** The same changes by name, where the file is JSON. */
  readonly members?: readonly SetMember[]
  /** SHA-256 of the file as it was left. */
  readonly hash: string
}

/** How an agent's settings go into the text of its file. */
export type Edit = {
  readonly file: string
  /** What an empty file is taken for: `{}` where the settings are JSON. */
  readonly emptyText: string
  /** The changes that add the settings to a text. May throw: then nothing is written. */
  change(text: string): { readonly splices: readonly Splice[]; readonly members?: readonly SetMember[] }
}

/** Adds settings to the file of an agent; settings that were written before are taken out first. */
export async function writeSettings(folder: string, agent: string, edit: Edit): Promise<void> {
  await removeSettings(folder, agent)
  const text = await readBytes(edit.file)
  const isBlank = text === null || text.trim() === ''
  const base = isBlank ? edit.emptyText : text
  const change = edit.change(base)
  const next = applySplices(base, change.splices)
  const blank = isBlank ? { blank: text } : {}
  const written: Written = { file: edit.file, ...blank, base: isBlank ? base : '', ...change, hash: hashOf(next) }
  // The record comes first: what is written can then always be taken out.
  await replaceFile(recordFile(folder, agent), JSON.stringify(written))
  await writeBytes(edit.file, next)
}

/** Nothing had been written; or it was taken out, but for settings that have been changed since. */
export type Removal = { readonly isDone: boolean; readonly kept: readonly string[] }

/** Takes out what was written, and leaves every other byte as it is. */
export async function removeSettings(folder: string, agent: string): Promise<Removal> {
  const written = await readRecord(recordFile(folder, agent))
  if (!written) return { isDone: false, kept: [] }
  const text = await readBytes(written.file)
  const kept = text === null ? [] : await restore(written, text)
  await rm(recordFile(folder, agent), { force: true })
  return { isDone: text !== null, kept }
}

/** The file into which the settings of an agent were written; null when they were not. */
export async function findWritten(folder: string, agent: string): Promise<string | null> {
  return (await readRecord(recordFile(folder, agent)))?.file ?? null
}

/** Names the settings that stay, because they have another value by now. */
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
  // The record was made, and the process ended before the file was written.
  if (!splices.some(({ added }) => text.includes(added))) return { before: text, kept: [] }
  throw new CommandError(
    `${file} was changed where svc wrote into it, so it is left as it is. Take these lines out by hand:\n` +
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
  await replaceFile(real, Buffer.from(text, 'latin1'), mode)
}

function hashOf(text: string): string {
  return createHash('sha256').update(text, 'latin1').digest('hex')
}

/** A JSON value of ours for a file whose characters are bytes. */
export function toByteValue<T>(value: T): T {
  // The same value with other characters in its strings.
  return JSON.parse(toBytes(JSON.stringify(value))) as T
}

/** Text of ours for a file whose characters are bytes. */
export function toBytes(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1')
}
