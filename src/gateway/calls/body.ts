import { DECISIVE_MEMBERS } from '../dialects/dialects.ts'
import { scanTopLevel, setMembers, valueBehind } from '../dialects/json/edit-json.ts'
import type { TopLevel } from '../dialects/json/edit-json.ts'
import type { Json } from '../dialects/json/read-json.ts'

const ESCAPE = Buffer.from('\\u')
const QUOTED = DECISIVE_MEMBERS.map((name) => ({ name, quoted: Buffer.from(`"${name}"`) }))

/**
 * The member that makes a body ambiguous: a decisive one that is there twice (`"mod\u0065l"` is `"model"`), or one that some
 * readers take for a decisive one (`"Model"`); null when there is none. An upstream might read another value than we did,
 * and the model policy would be passed by. `body` is `bytes` parsed.
 */
export function findAmbiguous(bytes: Buffer, body: Readonly<Record<string, unknown>>): string | null {
  for (const name in body) if (!isDecisive(name) && isDecisive(fold(name))) return name
  const there = QUOTED.filter(({ name }) => name in body)
  if (hasEachOnce(bytes, there)) return null
  return scanTopLevel(bytes)?.duplicates.find(isDecisive) ?? null
}

/** The same bytes, only these decisive members with another value. `body` is `bytes` parsed, and not ambiguous. */
export function withChanges(bytes: Buffer, body: Json, changes: Readonly<Record<string, unknown>>): Buffer {
  const changed = setMembers(bytes, changes, locate(bytes, body, changes))
  if (!changed) throw new Error('The body of a call is no object.')
  return changed
}

/**
 * Native searches settle nearly every body: no escaped letters, and each name at most once anywhere in it, however deep. Every search reads
 * the whole body.
 */
function hasEachOnce(bytes: Buffer, names: typeof QUOTED): boolean {
  return names.every(({ quoted }) => bytes.indexOf(quoted) === bytes.lastIndexOf(quoted)) && !bytes.includes(ESCAPE)
}

/** Where the members are that change: a name that is there once, and is one of the body's own, is the body's own. */
function locate(bytes: Buffer, body: Json, changes: Json): TopLevel | null {
  const there = QUOTED.filter(({ name }) => changes[name] !== undefined && name in body)
  const open = bytes.indexOf('{')
  if (open === -1 || !hasEachOnce(bytes, there)) return scanTopLevel(bytes)
  const members = there.map(
    ({ name, quoted }) => [name, valueBehind(bytes, bytes.indexOf(quoted) + quoted.length)] as const,
  )
  return { members: new Map(members), duplicates: [], start: open + 1 }
}

function isDecisive(name: string): boolean {
  return DECISIVE_MEMBERS.includes(name)
}

function fold(name: string): string {
  return name.toUpperCase().toLowerCase()
}
