import { isObject } from '../../../kernel/json.ts'
import { readList, readName, readObject, readText } from '../json/read-json.ts'
import type { Json } from '../json/read-json.ts'
import type { CacheMark, DocumentPart, Part, PartContent, Source, Turn } from '../neutral.ts'
import { toDocumentText } from '../parts/documents.ts'
import { refuse, refuseContent } from '../refusal.ts'
import type { InsteadOf } from '../refusal.ts'
import type { TranslationContext } from '../translated-dialect.ts'
import { describeToolChange, readToolChange } from './tool-changes.ts'

/** Reads content, which in this dialect is a text or a list of blocks, as a list of blocks. */
export function readBlocks(content: unknown, path: string): readonly Json[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  if (!Array.isArray(content)) refuse(path, 'Content must be a text or a list of blocks.')
  return readList(content).map((block, at) =>
    isObject(block) ? block : refuse(`${path}.${at}`, 'A block of content must be an object.'),
  )
}

/** Reads the cache mark of a block or a tool. */
export function readMark({ cache_control: control }: Json): { mark?: CacheMark } {
  if (!isObject(control)) return {}
  return { mark: { ttl: control.ttl === '1h' ? 'long' : 'short' } }
}

/** Reads the content of a message as parts. */
export function readParts(role: Turn['role'], content: unknown, path: string, context: TranslationContext): Part[] {
  const read = READERS[role]
  // A system message may have only settings.
  const given = role === 'system' ? (content ?? []) : content
  return readBlocks(given, path).flatMap((block, at) => {
    const place = `${path}.${at}`
    return toParts(read(block, place, context), block, place)
  })
}

/** Completes the parts of a block. The cache mark of the block is set on the last one. */
function toParts(found: readonly Found[], block: Json, path: string): Part[] {
  const last = found.length - 1
  return found.map((part, at) => ({ path, ...part, ...(at === last && readMark(block)) }))
}

type Found = PartContent & { readonly path?: string }
type ReadBlock = (block: Json, path: string, context: TranslationContext) => readonly Found[]

const READERS: Readonly<Record<Turn['role'], ReadBlock>> = {
  system: readSystemBlock,
  assistant: readAssistantBlock,
  user: readUserBlock,
}

function readSystemBlock(block: Json, path: string): readonly Found[] {
  const change = readToolChange(block, path)
  if (change) return [{ type: 'text', text: describeToolChange(change) }]
  return block.type === 'text' ? readShown(block, path) : refuseContent(block.type, path, INSTEAD_OF)
}

function readAssistantBlock(block: Json, path: string, { seals }: TranslationContext): readonly Found[] {
  switch (block.type) {
    case 'tool_use': {
      // A call without arguments may have no input at all.
      const input = JSON.stringify(readObject(block.input))
      const tool = { kind: 'function', name: readText(block.name), namespace: null } as const
      return [{ type: 'call', id: readText(block.id), tool, input }]
    }
    case 'thinking': {
      const text = readText(block.thinking)
      return [{ type: 'reasoning', text, seal: seals?.read(readText(block.signature), text) ?? null }]
    }
    case 'redacted_thinking':
      return [{ type: 'reasoning', text: '', seal: seals?.read(readText(block.data), '') ?? null }]
    case 'text':
      return readShown(block, path)
    // A fallback says that another model of the vendor has continued the answer. It has no content. A summary is read
    // with the history (`compaction.ts`), because it stands for the messages before it.
    case 'fallback':
    case 'compaction':
      return []
    // A search that a backend ran is useless without its results, which only its vendor can read.
    case 'server_tool_use':
    case 'web_search_tool_result':
      return block.type === 'server_tool_use' && block.name !== 'web_search'
        ? refuseContent(block.type, path, INSTEAD_OF)
        : []
    default:
      return refuseContent(block.type, path, INSTEAD_OF)
  }
}

function readUserBlock(block: Json, path: string): readonly Found[] {
  if (block.type !== 'tool_result') return readShown(block, path)
  const parts = readBlocks(block.content ?? '', `${path}.content`).flatMap((inner, at) => {
    const place = `${path}.content.${at}`
    return toParts(readShown(inner, place), inner, place)
  })
  const callPath = `${path}.tool_use_id`
  return [{ type: 'result', callId: readText(block.tool_use_id), parts, failed: block.is_error === true, callPath }]
}

/** Reads content that a user or a tool gives to the model. */
function readShown(block: Json, path: string): readonly Found[] {
  switch (block.type) {
    case 'text':
      return block.text === '' ? [] : [{ type: 'text', text: readText(block.text) }]
    case 'image':
      return [{ type: 'image', source: readImageSource(readObject(block.source), path), detail: null }]
    case 'document':
      return readDocument(block, path)
    case 'search_result': {
      const said = readBlocks(block.content, path).map((inner) => readText(inner.text))
      return [{ type: 'text', text: [readText(block.title), readText(block.source), said.join('\n\n')].join('\n') }]
    }
    case 'tool_reference':
      return [{ type: 'toolsAdded', names: [readText(block.tool_name)] }]
    default:
      return refuseContent(block.type, path, INSTEAD_OF)
  }
}

const INSTEAD_OF: InsteadOf = new Map([
  ['input_text', 'text'],
  ['output_text', 'text'],
  ['image_url', 'image'],
  ['input_image', 'image'],
  ['file', 'document'],
  ['input_file', 'document'],
])

function readImageSource(source: Json, path: string): Source {
  if (source.type === 'base64') {
    return { kind: 'bytes', mediaType: readText(source.media_type), base64: readText(source.data) }
  }
  if (source.type === 'url') return { kind: 'url', url: readText(source.url) }
  return refuse(`${path}.source`, 'This service does not store files: send the image as base64 or as a URL.')
}

function readDocument(block: Json, path: string): readonly Found[] {
  const source = readObject(block.source)
  const place = `${path}.source`
  const said = { title: readName(block.title), context: readName(block.context) }
  const toDocument = (found: Source): Found[] => {
    const document = { type: 'document', source: found, name: null, path: place } as const
    if (found.kind === 'text' || said.context === null) return [{ ...document, ...said }]
    // Other dialects have no member for it beside the data of a file.
    return [
      { type: 'text', text: said.context, path: place },
      { ...document, ...said, context: null },
    ]
  }
  switch (source.type) {
    case 'text':
      return toDocument({ kind: 'text', text: readText(source.data) })
    case 'base64':
      return toDocument({
        kind: 'bytes',
        mediaType: readName(source.media_type) ?? 'application/pdf',
        base64: readText(source.data),
      })
    case 'url':
      return toDocument({ kind: 'url', url: readText(source.url) })
    case 'content':
      return readContentSource(source.content, said, place)
    default:
      return refuse(place, 'This service does not store files: send the document as text, base64 or a URL.')
  }
}

/** Reads the blocks of a document as parts, after a text with the title and the context of the document. */
function readContentSource(content: unknown, said: Pick<DocumentPart, 'title' | 'context'>, place: string): Found[] {
  const head = toDocumentText({ name: null, ...said }, null)
  const parts = readBlocks(content, `${place}.content`).flatMap((inner, at) => {
    const inside = `${place}.content.${at}`
    return toParts(readShown(inner, inside), inner, inside)
  })
  return head === '' ? parts : [{ type: 'text', text: head, path: place }, ...parts]
}
