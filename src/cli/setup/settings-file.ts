import { createHash } from 'node:crypto'
import { readlink, realpath, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import { unlessMissing } from '../../kernel/error-code.ts'
import { parseJson } from '../../kernel/json.ts'
import { readText, rewriteFile } from '../../sdk/node-files.ts'
import { isText, readStored } from '../deployment/stored-json.ts'
import { CommandError } from '../failures.ts'
import { isDocument, JsonTextError } from './json-object.ts'
import { unsetMembers } from './json-text.ts'
import type { SetMember } from './json-text.ts'
import { applySplices, revertInChanged, revertSplices } from './splice.ts'
import type { Splice } from './splice.ts'
import { TomlTextError } from './toml-text.ts'

/**
 * The record of what was written into a settings file, so that it can be removed again. Texts have one character for
 * each byte (latin1), so that a file that is not UTF-8 keeps all its bytes.
 */
type Written = {
  readonly file: string
  /** Null in a record of an earlier version. */
  readonly start: Start | null
  /**
   * Set when the file had no settings: its text, or null when there was no file. The splices then start from `base`.
   */
  readonly blank?: string | null
  readonly base: string
  readonly splices: readonly Splice[]
  /** The same changes by name, for a JSON file. */
  readonly members?: readonly SetMember[]
  /** The keys in a TOML file whose values the tool itself may set later. */
  readonly rewritten?: readonly string[]
  /** SHA-256 of the file after the change. */
  readonly hash: string
}

/** What the settings of an agent name. `url`: the deployment that they were made for. */
export type Start = {
  readonly url: string
  readonly gatewayUrl: string
  /** The model of the team that it starts with; null: they name none, or those of an API key. */
  readonly model: string | null
}

/** How to add settings to the file of an agent. */
export type Edit = {
  readonly file: string
  readonly start: Start
  /** The text to start from when the file is empty or missing: `{}` for JSON. */
  readonly emptyText: string
  /** Computes the changes that add the settings to a text. When it throws, nothing is written. */
  change(text: string): Pick<Written, 'splices' | 'members' | 'rewritten'>
}

/**
 * Adds settings to the file of an agent, and removes earlier ones of this command. Everything is computed before
 * anything is written, so that a refusal changes nothing.
 */
export async function writeSettings(folder: string, agent: string, edit: Edit): Promise<void> {
  const earlier = await planRemoval(folder, agent)
  const text = earlier?.file === edit.file ? earlier.text : await readBytes(edit.file)
  const isBlank = text === null || text.trim() === ''
  const base = isBlank ? edit.emptyText : text
  const change = withFileName(edit.file, () => edit.change(base))
  const next = applySplices(base, change.splices)
  const blank = isBlank ? { blank: text } : {}
  const written: Written = {
    file: edit.file,
    start: edit.start,
    ...blank,
    base: isBlank ? base : '',
    ...change,
    hash: hashOf(next),
  }
  if (earlier) await carryOut(earlier, recordFile(folder, agent))
  // The record is saved first, so that whatever is written can be removed.
  await rewriteFile(recordFile(folder, agent), JSON.stringify(written))
  await writeBytes(edit.file, next)
}

/** `isDone` is false when there was nothing to remove. `kept` names settings that stay, because they were changed. */
export type Removal = { readonly isDone: boolean; readonly kept: readonly string[] }

/** Removes what was written, and changes no other byte. */
export async function removeSettings(folder: string, agent: string): Promise<Removal> {
  const plan = await planRemoval(folder, agent)
  if (plan) await carryOut(plan, recordFile(folder, agent))
  return plan ?? { isDone: false, kept: [] }
}

/** Where the settings of an agent were written, and with what it starts; null when there are none. */
export function findWritten(folder: string, agent: string): Promise<Pick<Written, 'file' | 'start'> | null> {
  return readRecord(recordFile(folder, agent))
}

/** A removal that is not carried out yet. `text` is what the file has after it; null: no file. */
type PlannedRemoval = Removal & { readonly file: string; readonly text: string | null }

async function planRemoval(folder: string, agent: string): Promise<PlannedRemoval | null> {
  const written = await readRecord(recordFile(folder, agent))
  if (!written) return null
  const { file, blank, base } = written
  const text = await readBytes(file)
  if (text === null) return { file, text, isDone: false, kept: [] }
  const { before, kept } = withFileName(file, () => revert(written, text))
  const isBlankAgain = blank !== undefined && before === base
  return { file, text: isBlankAgain ? blank : before, isDone: true, kept }
}

async function carryOut({ file, text, isDone }: PlannedRemoval, record: string): Promise<void> {
  if (isDone) await (text === null ? rm(await followLinks(file)) : writeBytes(file, text))
  await rm(record, { force: true })
}

/** Runs a step that reads a settings file, and names the file when its text is not valid. */
function withFileName<T>(file: string, step: () => T): T {
  try {
    return step()
  } catch (error) {
    if (!(error instanceof JsonTextError || error instanceof TomlTextError)) throw error
    throw new CommandError(`${file} cannot be read: ${error.message}. Nothing was changed.`)
  }
}

type Reverted = { readonly before: string; readonly kept: readonly string[] }

function revert({ file, splices, members, rewritten, hash }: Written, text: string): Reverted {
  if (hashOf(text) === hash) return { before: revertSplices(text, splices), kept: [] }
  // Where each change is still as it was written, undoing them restores the white space and comments around them too,
  // unless a comma would be left over: somebody has added a member before or behind one that was alone.
  const undone = revertInChanged(text, splices, rewritten)
  if (undone !== null && (!members || isAsStrict(undone, text))) return { before: undone, kept: [] }
  if (members) {
    if (text.trim() === '') return { before: text, kept: [] }
    const { text: unset, kept } = unsetMembers(text, members)
    return { before: unset, kept }
  }
  // The process ended after it had saved the record, before it wrote the file.
  if (!splices.some(({ added }) => text.includes(added))) return { before: text, kept: [] }
  throw new CommandError(
    `${file} was changed where svc wrote into it, so it was not changed. Remove these lines by hand:\n` +
      splices.map(({ added }) => Buffer.from(added, 'latin1').toString('utf8').trim()).join('\n'),
  )
}

/** Whether a text is JSON. It may have comments and trailing commas if the other text has what JSON does not allow. */
function isAsStrict(text: string, other: string): boolean {
  return parseJson(other) === undefined ? isDocument(text) : parseJson(text) !== undefined
}

const recordFile = (folder: string, agent: string) => path.join(folder, 'setup', `${agent}.json`)

function readRecord(file: string): Promise<Written | null> {
  const advice =
    'It records what svc setup has written into the settings of the tool. Remove that by hand, then remove this file.'
  return readStored<Written>(file, CHECKS, advice)
}

const CHECKS = { file: isText, base: isText, hash: isText, splices: Array.isArray }

function readBytes(file: string): Promise<string | null> {
  return readText(file, 'latin1')
}

/** Replaces the file atomically and keeps its mode. For a link, replaces the file that it points to. */
async function writeBytes(file: string, text: string): Promise<void> {
  const real = await followLinks(file)
  const mode = await stat(real).then(
    (found) => found.mode & 0o777,
    () => 0o600,
  )
  await rewriteFile(real, Buffer.from(text, 'latin1'), mode)
}

/** The file that a path leads to. It is missing where a link leads to a file that does not exist yet. */
async function followLinks(file: string): Promise<string> {
  const real = await unlessMissing(realpath(file), null)
  if (real !== null) return real
  const target = await readlink(file).catch(() => null)
  return target === null ? file : followLinks(path.resolve(path.dirname(file), target))
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
