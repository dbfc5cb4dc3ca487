import { skip, startOf } from './splice.ts'

/** The positions of a member of an object in the text. */
export type Member = {
  readonly key: string
  readonly start: number
  readonly valueStart: number
  readonly valueEnd: number
}

/** The positions of an object in the text: from its opening brace to after its closing one. */
export type JsonObject = { readonly open: number; readonly members: readonly Member[]; readonly end: number }

/** A text is not JSON, even if comments and trailing commas are allowed. */
export class JsonTextError extends Error {
  override readonly name = 'JsonTextError'
}

/**
 * Reads a JSON document that is an object. Comments and trailing commas are allowed. Throws a `JsonTextError` when it
 * is not one.
 */
export function readDocument(text: string): JsonObject {
  const object = readObject(text, skipBlanks(text, startOf(text)))
  if (skipBlanks(text, object.end) !== text.length) throw new JsonTextError('something follows the object')
  return object
}

/** Whether a text is a JSON document that is an object. */
export function isDocument(text: string): boolean {
  try {
    readDocument(text)
    return true
  } catch {
    return false
  }
}

/** Reads the object that begins at a position of a JSON document. Throws a `JsonTextError`. */
export function readObject(text: string, open: number): JsonObject {
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

const STRING = /"(?:[^"\\\n]|\\[^\n])*"/y
const WORD = /true|false|null|-?\d[\d.eE+-]*/y
const BLANKS = /(?:\s|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*/y

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
  const end = skip(WORD, text, at)
  if (end === at) throw new JsonTextError(`a value is missing at ${placeOf(text, at)}`)
  return end
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
  const end = skip(STRING, text, at)
  if (end === at) throw new JsonTextError(`a string is missing at ${placeOf(text, at)}`)
  return end
}

/** The position after white space and comments. */
export function skipBlanks(text: string, at: number): number {
  return skip(BLANKS, text, at)
}

function placeOf(text: string, at: number): string {
  return `line ${text.slice(0, at).split('\n').length}`
}
