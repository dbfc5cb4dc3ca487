import { DECISIVE_MEMBERS } from '../../dialects/dialects.ts'
import { foldCase, scanTopLevel, valueBehind } from '../../dialects/json/edit-json.ts'
import type { ByteRange, TopLevel } from '../../dialects/json/edit-json.ts'
import type { Json } from '../../dialects/json/read-json.ts'
import { toByteOffset } from '../../dialects/json/shorten-texts.ts'
import type { ShortenedJson } from '../../dialects/json/shorten-texts.ts'
import { ROUTING_MEMBERS } from './alternatives.ts'

/** Members that may name a model inside, in their tools or directly. */
const MODEL_HOLDERS: readonly string[] = ['tools', 'input', 'messages', 'moderation']
const SEARCHED_NAMES: readonly string[] = [...DECISIVE_MEMBERS, ...ROUTING_MEMBERS]
/** A name and what ends it. A search that starts with a quote takes twice as long, because quotes are frequent. */
const SEARCHED = SEARCHED_NAMES.map((name) => ({ name, tail: `${name}"` }))
/** A part of every escape of an ASCII letter, such as `\u0065`. */
const ESCAPE = 'u00'

/**
 * Finds the decisive members of a body in its bytes, and names that are there twice. `body` is the shortened document
 * parsed, which has all names of members.
 *
 * When no letter is escaped and each name occurs once anywhere in the shortened document, at any depth, then that is
 * the member. That settles nearly every body with native searches. All other bodies are read character by character.
 *
 * The names of `MODEL_HOLDERS` are not searched for, because they are frequent. A second member of such a name matters
 * only when it names a model, and then `model` occurs inside it too. A second `tools` is not found when it only has
 * tools of OpenRouter without a `model`.
 */
export function locateDecisive(bytes: Buffer, shortened: ShortenedJson, body: Json): TopLevel | null {
  const { text } = shortened
  const namesModelInside = !('model' in body) && text.includes('"model"')
  if (namesModelInside || text.includes(ESCAPE)) return locateMembers(shortened, SEARCHED_NAMES)
  const members = new Map<string, ByteRange>()
  for (const { name, tail } of SEARCHED) {
    if (!(name in body)) continue
    const end = findOnly(text, tail)
    if (end === null) return locateMembers(shortened, SEARCHED_NAMES)
    members.set(name, valueBehind(bytes, toByteOffset(shortened, end)))
  }
  return { members, duplicates: [], start: text.indexOf('{') + 1 }
}

/** Finds these members by reading the whole shortened document, whose names are not cut. */
export function locateMembers(shortened: ShortenedJson, names: readonly string[]): TopLevel | null {
  const found = scanTopLevel(Buffer.from(shortened.text, 'latin1'))
  if (!found) return null
  const members = new Map<string, ByteRange>()
  for (const name of names) {
    const range = found.members.get(name)
    if (!range) continue
    members.set(name, { start: toByteOffset(shortened, range.start), end: toByteOffset(shortened, range.end) })
  }
  return { ...found, members }
}

/**
 * The member that makes a body ambiguous, or null. It is a decisive member that is there twice (`"mod\u0065l"` is
 * `"model"`), or one that some parsers take for a decisive one (`"Model"`). A backend could read another value than
 * this service, which would bypass the model policy, or a spending limit.
 */
export function findAmbiguous(body: Json, located: TopLevel | null): string | null {
  for (const name in body) if (isOtherSpelling(name)) return name
  return located?.duplicates.find(isDecisive) ?? null
}

/** More names that only end like the searched one make searching slower than reading the whole body once. */
const MAX_SIMILAR = 100

/** The end of the only place in a text where this name is quoted; null when there are none or several. */
function findOnly(text: string, tail: string): number | null {
  let only: number | null = null
  let similar = 0
  for (let at = text.indexOf(tail); at !== -1; at = text.indexOf(tail, at + tail.length)) {
    if (text[at - 1] !== '"') {
      if (++similar > MAX_SIMILAR) return null
    } else if (only === null) only = at + tail.length
    else return null
  }
  return only
}

function isOtherSpelling(name: string): boolean {
  const folded = foldCase(name)
  return folded !== name && isDecisive(folded)
}

function isDecisive(name: string): boolean {
  return SEARCHED_NAMES.includes(name) || MODEL_HOLDERS.includes(name)
}
