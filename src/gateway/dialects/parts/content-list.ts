import { isObject } from '../../../kernel/json.ts'
import { readList, readObject } from '../json/read-json.ts'
import type { Json } from '../json/read-json.ts'
import type { CacheMark, Part, PartContent, Turn } from '../neutral.ts'
import { refuse } from '../refusal.ts'

/** Reads one part of a list. `path` is its place in the client's body, for refusals. */
type ReadPart = (part: Json, path: string) => PartContent

/** Reads the content of a message in the chat and the responses dialect: a text, or a list of parts. */
export function readContentList(content: unknown, path: string, readPart: ReadPart): Part[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content, path }]
  if (!Array.isArray(content)) refuse(path, 'Content must be a text or a list of parts.')
  return readList(content).map((given, at) => {
    const part = readObject(given)
    const place = `${path}.${at}`
    return { ...readPart(part, place), path: place, ...readBreakpoint(part) }
  })
}

/**
 * Returns the parts of a turn that is not the user's. Throws a refusal for a part that is not text, because no other
 * dialect has images or files in such a turn.
 */
export function requireTexts(role: Exclude<Turn['role'], 'user'>, parts: Part[]): Part[] {
  const other = parts.find(({ type }) => !TEXT_TYPES.has(type))
  if (other) refuse(other.path, TEXTS_ONLY[role])
  return parts
}

const TEXT_TYPES: ReadonlySet<Part['type']> = new Set(['text', 'refusal', 'reasoning'])

const TEXTS_ONLY = {
  system: 'A system prompt must be text: send other content in a message of the user.',
  assistant: 'A message of the assistant must be text: send other content in a message of the user.',
}

/** The cache mark of a part, as both dialects write it. */
export type CacheBreakpoint = { prompt_cache_breakpoint?: { mode: 'explicit'; ttl: '30m' | '12h' } }

function readBreakpoint({ prompt_cache_breakpoint: mark }: Json): { mark?: CacheMark } {
  return isObject(mark) ? { mark: { ttl: mark.ttl === '12h' ? 'long' : 'short' } } : {}
}

/** Writes the cache mark of a part; nothing for a part without one. */
export function writeBreakpoint(mark: CacheMark | undefined): CacheBreakpoint {
  return mark ? { prompt_cache_breakpoint: { mode: 'explicit', ttl: mark.ttl === 'long' ? '12h' : '30m' } } : {}
}
