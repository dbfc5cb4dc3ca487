import { skip, startOf } from './splice.ts'

/** The keys of a TOML document before its first table, and all names. */
export type TomlOutline = {
  readonly keys: readonly TomlKey[]
  /** The names of all tables and keys, from the top, without white space and quotes: `model_providers.svc`. */
  readonly names: readonly string[]
}

/** A key with the positions of its line or lines: from the key to the end of the value, without the line end. */
export type TomlKey = { readonly name: string; readonly start: number; readonly end: number }

/** A text is not TOML. */
export class TomlTextError extends Error {
  override readonly name = 'TomlTextError'
}

/** Reads the outline of a TOML document; values are skipped, however many lines they have. */
export function readToml(text: string): TomlOutline {
  const keys: TomlKey[] = []
  const names: string[] = []
  let inside = ''
  for (let at = skip(BLANKS, text, startOf(text)); at < text.length; at = skip(BLANKS, text, at)) {
    const nameEnd = skip(TABLE_OR_KEY, text, at)
    if (nameEnd === at) throw new TomlTextError(`Line ${lineOf(text, at)} is not valid TOML`)
    const isTable = text[at] === '['
    const name = bareName(text.slice(at, nameEnd).replaceAll(/^\[+|\]+$|=\s*$/g, ''))
    const end = isTable ? nameEnd : skipValue(text, nameEnd)
    names.push(isTable ? name : inside + name)
    if (isTable) inside = `${name}.`
    else if (inside === '') keys.push({ name, start: at, end })
    at = end
  }
  return { keys, names }
}

const NAME = String.raw`(?:[\w-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')`
const DOTTED = String.raw`[ \t]*${NAME}(?:[ \t]*\.[ \t]*${NAME})*[ \t]*`
const TABLE_OR_KEY = new RegExp(String.raw`\[\[?${DOTTED}\]\]?|${DOTTED}=[ \t]*`, 'y')
const BLANKS = /(?:\s|#[^\n]*)*/y
/** Multi-line strings are tried first, because they begin like empty strings. */
const STRING = /"""(?:[^\\]|\\[\s\S])*?"{3,5}|'''[\s\S]*?'{3,5}|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'/y
const WORD = /[^\s,[\]{}#"']+(?:[ \t]+[^\s,[\]{}#"'=]+)*/y
const OPEN = /[[{]/y
const CLOSE = /[\]}]/y
/** What separates values inside brackets. */
const SEPARATORS = /(?:[\s,]|#[^\n]*)*/y

/** The position after the value that begins at `start`. Arrays and inline tables may have many lines. */
function skipValue(text: string, start: number): number {
  let at = start
  let depth = 0
  do {
    const [pattern, change] = PARTS.find(([each]) => skip(each, text, at) > at) ?? []
    if (pattern === undefined || change === undefined) {
      throw new TomlTextError(`The value in line ${lineOf(text, at)} is not valid TOML`)
    }
    at = skip(pattern, text, at)
    depth += change
    if (depth > 0) at = skip(SEPARATORS, text, at)
  } while (depth > 0)
  return at
}

const PARTS: readonly (readonly [RegExp, number])[] = [
  [OPEN, 1],
  [CLOSE, -1],
  [STRING, 0],
  [WORD, 0],
]

function bareName(name: string): string {
  return name.replaceAll(/["'\s]/g, '')
}

function lineOf(text: string, at: number): number {
  return text.slice(0, at).split('\n').length
}
