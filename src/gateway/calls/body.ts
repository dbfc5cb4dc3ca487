import { DECISIVE_MEMBERS } from '../dialects/dialects.ts'
import { scanTopLevel, setMembers, valueBehind } from '../dialects/json/edit-json.ts'
import type { TopLevel } from '../dialects/json/edit-json.ts'
import type { Json } from '../dialects/json/read-json.ts'
import { ROUTING_MEMBERS } from './alternatives.ts'

const ESCAPE = Buffer.from('\\u')
const DECISIVE_NAMES: readonly string[] = [...DECISIVE_MEMBERS, ...ROUTING_MEMBERS]
const DECISIVE = DECISIVE_NAMES.map((name) => ({ name, quoted: Buffer.from(`"${name}"`) }))

/**
 * The member that makes a body ambiguous, or null. It is a decisive member that is there twice (`"mod\u0065l"` is
 * `"model"`), or one that some parsers take for a decisive one (`"Model"`). A backend could read another value than
 * this service, which would bypass the model policy. `body` is `bytes` parsed.
 */
export function findAmbiguous(bytes: Buffer, body: Json): string | null {
  for (const name in body) if (!isDecisive(name) && isDecisive(foldCase(name))) return name
  const present = DECISIVE.filter(({ name }) => name in body)
  if (hasEachOnce(bytes, present)) return null
  return scanTopLevel(bytes)?.duplicates.find(isDecisive) ?? null
}

/** The same bytes with these decisive members set to other values. `body` is `bytes` parsed, and not ambiguous. */
export function withChanges(bytes: Buffer, body: Json, changes: Json): Buffer {
  const changed = setMembers(bytes, changes, locate(bytes, body, changes))
  if (!changed) throw new Error('The body of a call is not a JSON object.')
  return changed
}

/**
 * Whether no letter is escaped and each name occurs at most once anywhere in the bytes, at any depth. That settles
 * nearly every body with native searches. Each of them reads the whole body.
 */
function hasEachOnce(bytes: Buffer, names: typeof DECISIVE): boolean {
  return names.every(({ quoted }) => bytes.indexOf(quoted) === bytes.lastIndexOf(quoted)) && !bytes.includes(ESCAPE)
}

/** Where the members are that change. A name that occurs once, and is a member of the body, is that member. */
function locate(bytes: Buffer, body: Json, changes: Json): TopLevel | null {
  const present = DECISIVE.filter(({ name }) => changes[name] !== undefined && name in body)
  const open = bytes.indexOf('{')
  if (open === -1 || !hasEachOnce(bytes, present)) return scanTopLevel(bytes)
  const members = present.map(
    ({ name, quoted }) => [name, valueBehind(bytes, bytes.indexOf(quoted) + quoted.length)] as const,
  )
  return { members: new Map(members), duplicates: [], start: open + 1 }
}

function isDecisive(name: string): boolean {
  return DECISIVE_NAMES.includes(name)
}

/** Upper case first: U+017F folds to `s` in parsers that ignore case. */
function foldCase(name: string): string {
  return name.toUpperCase().toLowerCase()
}
