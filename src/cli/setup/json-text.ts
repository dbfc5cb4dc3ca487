import { lineEndOf } from './splice.ts'
import type { Splice } from './splice.ts'

type Member = { readonly key: string; readonly start: number; readonly valueStart: number; readonly valueEnd: number }
type JsonObject = { readonly open: number; readonly members: readonly Member[]; readonly end: number }

/** A text that is not JSON, not even with comments. */
export class JsonTextError extends Error {
  override readonly name = 'JsonTextError'
}

/**
 * The change that sets a member of a JSON document, such as `['env', 'NAME']`, and touches no other byte. Comments and trailing commas
 * are allowed. Throws a `JsonTextError` when the text is no object or something on the way to the member is not.
 */
export function setMember(text: string, path: readonly string[], value: unknown): Splice {
  let object = readDocument(text)
  for (const [depth, key] of path.entries()) {
    // Of members with the same name the last one counts.
    const member = object.members.findLast((each) => each.key === key)
    const inner = path.slice(depth + 1)
    if (!member) return insertMember(text, object, key, nest(inner, value))
    if (inner.length === 0) return replaceValue(text, member, value)
    object = readObject(text, member.valueStart)
  }
  throw new JsonTextError('there is no member to set')
}

function nest(path: readonly string[], value: unknown): unknown {
  return path.reduceRight((inner, key) => ({ [key]: inner }), value)
}

/** The key is part of the change, so that the change can be found again. */
function replaceValue(text: string, { start, valueStart, valueEnd }: Member, value: unknown): Splice {
  const added = text.slice(start, valueStart) + JSON.stringify(value)
  return { at: start, removed: text.slice(start, valueEnd), added }
}

/** A new member goes first, with its comma: taking it out leaves valid JSON, whatever was added behind it. */
function insertMember(text: string, { open, members }: JsonObject, key: string, value: unknown): Splice {
  const lineEnd = lineEndOf(text)
  const first = members[0]
  const outer = indentAt(text, open)
  const lead = first ? text.slice(text.lastIndexOf('\n', first.start) + 1, first.start) : ''
  const isOnOwnLine = first !== undefined && text.slice(open, first.start).includes('\n') && lead.trim() === ''
  const indent = isOnOwnLine ? lead : `${outer}  `
  const unit = indent.startsWith('\t') ? '\t' : '  '
  const shown = JSON.stringify(value, null, unit).replaceAll('\n', lineEnd + indent)
  const line = `${lineEnd}${indent}${JSON.stringify(key)}: ${shown}`
  return { at: open + 1, removed: '', added: first ? `${line},` : `${line}${lineEnd}${outer}` }
}

/** The blanks that the line of a place begins with. */
function indentAt(text: string, at: number): string {
  return /^[ \t]*/.exec(text.slice(text.lastIndexOf('\n', at) + 1, at))?.[0] ?? ''
}

function readDocument(text: string): JsonObject {
  const object = readObject(text, skipBlanks(text, startOf(text)))
  if (skipBlanks(text, object.end) !== text.length) throw new JsonTextError('something follows the object')
  return object
}

/** Behind a byte order mark, in a text whose characters are bytes. */
function startOf(text: string): number {
  return text.startsWith('\u00ef\u00bb\u00bf') ? 3 : 0
}

function readObject(text: string, open: number): JsonObject {
  if (text[open] !== '{') throw new JsonTextError(`there is no object at ${placeOf(text, open)}`)
  const members: Member[] = []
  for (let at = skipBlanks(text, open + 1); ;) {
    if (text[at] === '}') return { open, members, end: at + 1 }
    const member = readMember(text, at)
    members.push(member)
    at = skipBlanks(text, member.valueEnd)
    if (text[at] === ',') at = skipBlanks(text, at + 1)
    else if (text[at] !== '}') throw new JsonTextError(`a comma is missing at ${placeOf(text, at)}`)
  }
}

function readMember(text: string, start: number): Member {
  const keyEnd = skipString(text, start)
  const colon = skipBlanks(text, keyEnd)
  if (text[colon] !== ':') throw new JsonTextError(`a colon is missing at ${placeOf(text, colon)}`)
  const valueStart = skipBlanks(text, colon + 1)
  return { key: parseKey(text, start, keyEnd), start, valueStart, valueEnd: skipValue(text, valueStart) }
}

function parseKey(text: string, start: number, end: number): string {
  try {
    return JSON.parse(text.slice(start, end)) as string
  } catch {
    throw new JsonTextError(`the name at ${placeOf(text, start)} is not valid`)
  }
}

function skipValue(text: string, at: number): number {
  if (text[at] === '"') return skipString(text, at)
  if (text[at] === '{') return readObject(text, at).end
  if (text[at] === '[') return skipArray(text, at)
  const word = /^(?:true|false|null|-?\d[\d.eE+-]*)/.exec(text.slice(at, at + 64))?.[0]
  if (!word) throw new JsonTextError(`a value is missing at ${placeOf(text, at)}`)
  return at + word.length
}

function skipArray(text: string, open: number): number {
  for (let at = skipBlanks(text, open + 1); ;) {
    if (text[at] === ']') return at + 1
    at = skipBlanks(text, skipValue(text, at))
    if (text[at] === ',') at = skipBlanks(text, at + 1)
    else if (text[at] !== ']') throw new JsonTextError(`a comma is missing at ${placeOf(text, at)}`)
  }
}

function skipString(text: string, at: number): number {
  const string = /"(?:[^"\\\n]|\\[^\n])*"/y
  string.lastIndex = at
  if (!string.test(text)) throw new JsonTextError(`a string is missing at ${placeOf(text, at)}`)
  return string.lastIndex
}

/** White space and comments. */
function skipBlanks(text: string, at: number): number {
  const blanks = /(?:\s|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*/y
  blanks.lastIndex = at
  blanks.test(text)
  return blanks.lastIndex
}

function placeOf(text: string, at: number): string {
  return `line ${text.slice(0, at).split('\n').length}`
}
