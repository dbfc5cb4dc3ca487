import type { Json } from '../translate/read.ts'
import { scanTopLevel, spliceTopLevel, valueBehind } from '../translate/splice.ts'
import type { TopLevel } from '../translate/splice.ts'
import { TOKEN_LIMITS } from '../workers/rules.ts'

/** The members that decide who serves a call and how; two readers must not disagree about them. */
const DECISIVE = ['model', 'stream', ...TOKEN_LIMITS] as const

const ESCAPE = Buffer.from('\\u')
const QUOTED = DECISIVE.map((name) => ({ name, quoted: Buffer.from(`"${name}"`) }))

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
export function withChanges(
  bytes: Buffer,
  body: Json,
  changes: Partial<Record<(typeof DECISIVE)[number], unknown>>,
): Buffer {
  const spliced = spliceTopLevel(bytes, changes, locate(bytes, body, changes))
  if (!spliced) throw new Error('The body of a call is no object.')
  return spliced.bytes
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
  return (DECISIVE as readonly string[]).includes(name)
}

function fold(name: string): string {
  return name.toUpperCase().toLowerCase()
}
