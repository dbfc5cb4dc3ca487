import { isObject } from '../../../kernel/json.ts'
import type { Json } from '../json/read-json.ts'
import { readCount, readList, readName } from '../json/read-json.ts'
import type { Citation } from '../neutral.ts'

/**
 * Reads `url_citation` annotations. The chat dialect has their members in an object of its own; other kinds of
 * annotations name files of the vendor and are left out.
 */
export function readUrlCitations(annotations: unknown): Citation[] {
  return readList(annotations).flatMap((annotation) => {
    if (!isObject(annotation) || annotation.type !== 'url_citation') return []
    const members = isObject(annotation.url_citation) ? annotation.url_citation : annotation
    const url = readName(members.url)
    if (url === null) return []
    const [start, end] = [readCount(members.start_index), readCount(members.end_index)]
    const range = start !== null && end !== null && start <= end ? { start, end } : null
    return [{ url, title: readName(members.title), range }]
  })
}

/**
 * Writes the members of a `url_citation`. `text` is the text of the part; `offset` is the place of the part where the
 * dialect joins texts.
 */
export function writeUrlCitation({ url, title, range }: Citation, text: string, offset = 0): Json {
  const { start, end } = range ?? { start: 0, end: text.length }
  return { url, title: title ?? url, start_index: offset + start, end_index: offset + end }
}
