import { DECISIVE_MEMBERS } from '../../dialects/dialects.ts'
import { scanTopLevel, valueBehind } from '../../dialects/json/edit-json.ts'
import type { ByteRange, TopLevel } from '../../dialects/json/edit-json.ts'
import type { Json } from '../../dialects/json/read-json.ts'
import { ROUTING_MEMBERS } from './alternatives.ts'

const DECISIVE_NAMES: readonly string[] = [...DECISIVE_MEMBERS, ...ROUTING_MEMBERS]
/** A name and what ends it. A search that starts with a quote takes twice as long, because quotes are frequent. */
const DECISIVE = DECISIVE_NAMES.map((name) => ({ name, tail: Buffer.from(`${name}"`) }))
/** A part of every escape of an ASCII letter, such as `\u0065`. */
const ESCAPE = Buffer.from('u00')
const QUOTE = 0x22

/**
 * Finds the decisive members of a body in its bytes, and names that are there twice. `body` is `bytes` parsed. Null
 * when it is not an object.
 *
 * When no letter is escaped and each name occurs once anywhere in the bytes, at any depth, then that is the member.
 * That settles nearly every body with native searches. All other bodies are read byte by byte.
 */
export function locateDecisive(bytes: Buffer, body: Json): TopLevel | null {
  const open = bytes.indexOf('{')
  if (open === -1 || bytes.includes(ESCAPE)) return scanTopLevel(bytes)
  const members = new Map<string, ByteRange>()
  for (const { name, tail } of DECISIVE) {
    if (!(name in body)) continue
    const end = findOnly(bytes, tail)
    if (end === null) return scanTopLevel(bytes)
    members.set(name, valueBehind(bytes, end))
  }
  return { members, duplicates: [], start: open + 1 }
}

/**
 * The member that makes a body ambiguous, or null. It is a decisive member that is there twice (`"mod\u0065l"` is
 * `"model"`), or one that some parsers take for a decisive one (`"Model"`). A backend could read another value than
 * this service, which would bypass the model policy.
 */
export function findAmbiguous(body: Json, located: TopLevel | null): string | null {
  for (const name in body) if (!isDecisive(name) && isDecisive(foldCase(name))) return name
  return located?.duplicates.find(isDecisive) ?? null
}

/** More names that only end like the searched one make searching slower than reading the whole body once. */
const MAX_SIMILAR = 100

/** The end of the only place in the bytes where this name is quoted; null when there are none or several. */
function findOnly(bytes: Buffer, tail: Buffer): number | null {
  let only: number | null = null
  let similar = 0
  for (let at = bytes.indexOf(tail); at !== -1; at = bytes.indexOf(tail, at + tail.length)) {
    if (bytes[at - 1] !== QUOTE) {
      if (++similar > MAX_SIMILAR) return null
    } else if (only === null) only = at + tail.length
    else return null
  }
  return only
}

function isDecisive(name: string): boolean {
  return DECISIVE_NAMES.includes(name)
}

/** Upper case first: U+017F folds to `s` in parsers that ignore case. */
function foldCase(name: string): string {
  return name.toUpperCase().toLowerCase()
}
