import { readArguments, readList, readName, readObject, readText } from '../json/read-json.ts'
import type { Json } from '../json/read-json.ts'
import type { Part, PartContent, Turn } from '../neutral.ts'
import { readContentList, requireTexts } from '../parts/content-list.ts'
import { readUrl } from '../parts/data-url.ts'
import { refuse, refuseContent } from '../refusal.ts'
import type { InsteadOf } from '../refusal.ts'
import type { TranslationContext } from '../translated-dialect.ts'
import { isCompaction, readSummary, SUMMARY_REQUEST } from './compaction.ts'
import { describeNamespaces } from './read-tools.ts'

/** Reads the instructions and the input items as turns, one for each item. */
export function readResponsesHistory(body: Json, context: TranslationContext): Turn[] {
  const turns: Turn[] = []
  const instructions = readText(body.instructions)
  if (instructions !== '') turns.push(toText('system', 'instructions', instructions))
  const namespaces = describeNamespaces(body.tools)
  if (namespaces !== null) turns.push(toText('system', 'tools', namespaces))
  if (typeof body.input === 'string') return [...turns, toText('user', 'input', body.input)]
  if (!Array.isArray(body.input)) refuse('input', 'It must be a text or a list of items.')
  const items = readList(body.input)
  const lastAt = isCompaction(body) ? items.length - 1 : -1
  items.forEach((item, at) => {
    const path = `input.${at}`
    const turn = at === lastAt ? toText('user', path, SUMMARY_REQUEST) : readItem(readObject(item), path, context)
    if (turn) turns.push(turn)
  })
  return turns
}

function toText(role: 'system' | 'user', path: string, text: string): Turn {
  return toTurn(role, path, [{ type: 'text', text }])
}

function toTurn(role: Turn['role'], path: string, parts: readonly PartContent[]): Turn {
  return { role, path, parts: parts.map((part) => ({ ...part, path })) }
}

function readItem(item: Json, path: string, context: TranslationContext): Turn | null {
  switch (item.type ?? 'message') {
    case 'message':
      return readMessage(item, path)
    case 'function_call':
      return toTurn('assistant', path, [toCall(item, 'function', readArguments(item.arguments) || '{}')])
    case 'custom_tool_call':
      return toTurn('assistant', path, [toCall(item, 'custom', readText(item.input))])
    case 'function_call_output':
    case 'custom_tool_call_output':
      return readOutput(item, path)
    case 'reasoning':
      return readReasoning(item, path, context)
    // A search query is useless without its results.
    case 'web_search_call':
      return null
    case 'additional_tools':
      return readAddedTools(item, path)
    case 'item_reference':
      return readReference(item, path)
    case 'compaction':
    case 'compaction_summary':
      return readCompaction(item, path)
    case 'compaction_trigger':
      return refuse(path, 'Only the last item can ask for a compaction.')
    default:
      return refuse(
        path,
        `This model reads no items of type ${readName(item.type) ?? 'unknown'}: leave it out or send it as a message.`,
      )
  }
}

/** Reads the descriptions of the namespaces of added tools. The tools themselves are read in read-tools.ts. */
function readAddedTools({ tools }: Json, path: string): Turn | null {
  const namespaces = describeNamespaces(tools)
  return namespaces === null ? null : toText('system', path, namespaces)
}

function readCompaction(item: Json, path: string): Turn {
  const summary = readSummary(item)
  if (summary !== null) return toText('user', path, summary)
  return refuse(path, 'Only the vendor that wrote this summary can read it: send the conversation itself.')
}

/** A reference to reasoning is dropped, because the model can do without it. Any other reference is refused. */
function readReference({ id }: Json, path: string): null {
  if (readText(id).startsWith('rs_')) return null
  return refuse(path, 'Items are not stored here: set store: false and send the item itself.')
}

function readMessage({ role, content }: Json, path: string): Turn {
  const parts = readContent(content, `${path}.content`)
  if (role === 'user') return { role, path, parts }
  if (role === 'assistant') return { role, path, parts: requireTexts(role, parts) }
  if (role === 'system' || role === 'developer') return { role: 'system', path, parts: requireTexts('system', parts) }
  return refuse(`${path}.role`, 'It must be user, assistant, system or developer.')
}

function toCall(item: Json, kind: 'function' | 'custom', input: string): PartContent {
  const tool = { kind, name: readText(item.name), namespace: readName(item.namespace) }
  return { type: 'call', id: readText(item.call_id), tool, input }
}

function readOutput(item: Json, path: string): Turn {
  const parts = readContent(item.output ?? '', `${path}.output`)
  const tool = readName(item.name)
  if (tool !== null && readName(item.call_id) === null) return readUnasked(tool, item, parts, path)
  const callPath = `${path}.call_id`
  return toTurn('user', path, [{ type: 'result', callId: readText(item.call_id), parts, failed: false, callPath }])
}

/** Reads an output without a call, such as the goal of Codex, as a text: the other dialects have no such outputs. */
function readUnasked(tool: string, { namespace }: Json, parts: readonly Part[], path: string): Turn {
  const names = [readName(namespace), tool].filter((name) => name !== null)
  return {
    role: 'user',
    path,
    parts: [{ type: 'text', text: `Output of the tool ${names.join('.')}:`, path }, ...parts],
  }
}

function readReasoning(item: Json, path: string, { seals }: TranslationContext): Turn {
  const text = [...readList(item.summary), ...readList(item.content)]
    .map((part) => readText(readObject(part).text))
    .join('\n\n')
  const seal = seals?.read(readText(item.encrypted_content), text) ?? null
  return toTurn('assistant', path, [{ type: 'reasoning', text, seal }])
}

function readContent(content: unknown, path: string): Part[] {
  return readContentList(content, path, readPart)
}

const INSTEAD_OF: InsteadOf = new Map([
  ['image_url', 'input_image'],
  ['image', 'input_image'],
  ['file', 'input_file'],
  ['document', 'input_file'],
  ['tool_use', 'an item of type function_call'],
  ['tool_result', 'an item of type function_call_output'],
])

const NO_IMAGE = 'This service does not store files: send the image as image_url, with a URL or a data URL as its text.'

function readPart(part: Json, path: string): PartContent {
  switch (part.type) {
    case 'input_text':
    case 'output_text':
    case 'text':
      return { type: 'text', text: readText(part.text) }
    case 'refusal':
      return { type: 'refusal', text: readText(part.refusal) }
    case 'input_image': {
      const url = readName(part.image_url) ?? refuse(path, NO_IMAGE)
      return { type: 'image', source: readUrl(url), detail: readName(part.detail) }
    }
    case 'input_file':
      return readFile(part, path)
    default:
      return refuseContent(part.type, path, INSTEAD_OF)
  }
}

function readFile(part: Json, path: string): PartContent {
  const url = readName(part.file_url)
  const data = readName(part.file_data)
  if (url === null && data === null)
    refuse(path, 'This service does not store files: send the file as file_data or file_url.')
  const source = readUrl(data ?? url ?? '', 'application/pdf')
  return { type: 'document', source, name: readName(part.filename), title: null, context: null }
}
