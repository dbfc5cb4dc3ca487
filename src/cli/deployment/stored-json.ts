import { isObject, parseJson } from '../../kernel/json.ts'
import { readText } from '../../sdk/node-files.ts'
import { CommandError } from '../failures.ts'

/** By the name of a member: whether it has a value that this command writes. */
type Checks = Readonly<Record<string, (value: unknown) => boolean>>

export const isText = (value: unknown): boolean => typeof value === 'string'

/** Whether a value is a URL with which requests can be made. */
export const isHttpUrl = (value: unknown): boolean =>
  typeof value === 'string' && /^https?:/i.test(value) && URL.canParse(value)

/**
 * Reads a JSON file that this command has written; null when there is none. Throws with advice when it is damaged: it
 * is not an object, or a member does not pass its check.
 */
export async function readStored<T>(file: string, checks: Checks, advice: string): Promise<T | null> {
  const text = await readText(file)
  if (text === null) return null
  const value = parseJson(text)
  const isWhole = isObject(value) && Object.entries(checks).every(([name, isValid]) => isValid(value[name]))
  if (!isWhole) throw new CommandError(`${file} is damaged. ${advice}`)
  // Cast: this command has written the other members with those that are checked.
  return value as T
}
