import { readFile } from 'node:fs/promises'
import { unlessMissing } from '../../kernel/error-code.ts'
import { parseJson } from '../../kernel/json.ts'
import { CommandError } from '../failures.ts'

/**
 * Reads a JSON file that this command has written; null when there is none. Throws with advice when it is damaged: it
 * is not JSON, or has no text in `member`.
 */
export async function readStored<T>(file: string, member: keyof T, advice: string): Promise<T | null> {
  const text = await unlessMissing(readFile(file, 'utf8'), null)
  if (text === null) return null
  // Cast: this command has written the other members with the one that is checked.
  const value = parseJson(text) as Partial<T> | null | undefined
  if (typeof value?.[member] !== 'string') throw new CommandError(`${file} is damaged. ${advice}`)
  return value as T
}
