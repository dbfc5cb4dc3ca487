import { readFile } from 'node:fs/promises'
import { unlessMissing } from '../kernel/error-code.ts'
import { isObject } from '../kernel/json.ts'
import { makePrivateFile, replaceFile } from '../private-files.ts'
import { toJwk, toPublishedKeys } from './key-set.ts'
import type { PublishedKey } from './key-set.ts'

/** The content of the file: published keys and the control plane that they are from. */
export type SavedKeys = { readonly source: string; readonly keys: readonly PublishedKey[] }

/**
 * Reads the file; null when it does not exist. Rejects when it cannot be read or is not JSON. When other users could
 * change it, which would let them sign in as anyone, it is made private first and `onMadePrivate` is called.
 */
export async function readKeysFile(file: string, onMadePrivate: () => void): Promise<SavedKeys | null> {
  const text = await unlessMissing(readFile(file, 'utf8'), null)
  if (text !== null && (await makePrivateFile(file))) onMadePrivate()
  const saved: unknown = text === null ? null : JSON.parse(text)
  if (!isObject(saved)) return null
  return { source: String(saved['source']), keys: toPublishedKeys(saved['keys']) }
}

/** Writes the file completely or not at all. */
export async function writeKeysFile(file: string, { source, keys }: SavedKeys): Promise<void> {
  await replaceFile(file, `${JSON.stringify({ source, keys: keys.map(toJwk) }, null, 2)}\n`)
}
