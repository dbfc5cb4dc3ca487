import { scanTopLevel } from './edit-json.ts'
import { parseToRewrite } from './read-json.ts'

/** Parses a member of a JSON object to change and write it again. Undefined where there is none. */
export function parseMember(bytes: Buffer, name: string): unknown {
  const range = scanTopLevel(bytes)?.members.get(name)
  return range && parseToRewrite(bytes.toString('utf8', range.start, range.end))
}
