import type { Json } from '../json/read-json.ts'
import type {
  CacheMark,
  CallPart,
  DocumentPart,
  NeutralRequest,
  Part,
  ReasoningPart,
  ResultPart,
  Turn,
} from '../neutral.ts'
import { writeBreakpoint } from '../parts/content-list.ts'
import { toUrl } from '../parts/data-url.ts'
import { readableSource, toDocumentText } from '../parts/documents.ts'
import { withReasoningBeforeCalls } from '../parts/reasoning-order.ts'
import { NO_AUDIO, refuse, refuseResult } from '../refusal.ts'
import { toArguments } from '../tools/custom-tools.ts'
import { toCallId } from '../tools/call-ids.ts'
import { announceTool } from '../tools/tool-names.ts'
import type { ToolNames } from '../tools/tool-names.ts'
import type { TranslationContext } from '../translated-dialect.ts'

type Needs = {
  readonly context: TranslationContext
  readonly names: ToolNames
  /** A text to append to the system prompt. */
  readonly note: string | null
}

/**
 * Writes the turns of a request as instructions and input items. System texts with a cache mark become items, because
 * instructions cannot have marks.
 */
export function writeResponsesHistory(
  { turns }: NeutralRequest,
  needs: Needs,
): { instructions?: string; input: Json[] } {
  // With system texts only, the index is -1: the last of them is written as an item, because there must be one.
  const leading = turns.slice(
    0,
    turns.findIndex(({ role }) => role !== 'system'),
  )
  const isMarked = leading.some(({ parts }) => parts.some(({ mark }) => mark))
  const texts = isMarked ? [] : leading.flatMap(({ parts }) => parts.flatMap(textOf)).map(({ text }) => text)
  if (needs.note !== null) texts.push(needs.note)
  const items = new Items(needs)
  for (const turn of isMarked ? turns : turns.slice(leading.length)) items.add(turn)
  return { ...(texts.length > 0 && { instructions: texts.join('\n\n') }), input: items.list }
}

/** Collects the items. It remembers the calls, because the type of a result depends on the kind of its call. */
class Items {
  readonly list: Json[] = []
  readonly #needs: Needs
  readonly #customCalls = new Map<string, boolean>()

  constructor(needs: Needs) {
    this.#needs = needs
  }

  add({ role, parts }: Turn): void {
    if (role === 'assistant') return this.#assistant(parts)
    if (role === 'system') return this.#message('developer', parts.flatMap(textOf).map(toInputText))
    for (const part of parts) if (part.type === 'result') this.#result(part)
    this.#message(
      'user',
      parts.flatMap((part) => (part.type === 'result' ? [] : show(part))),
    )
  }

  #assistant(parts: readonly Part[]): void {
    for (const part of withReasoningBeforeCalls(parts)) {
      // Servers that check items by the types of the vendor's SDK require `annotations`.
      if (part.type === 'text') this.#message('assistant', [{ type: 'output_text', text: part.text, annotations: [] }])
      if (part.type === 'refusal') this.#message('assistant', [{ type: 'refusal', refusal: part.text }])
      if (part.type === 'reasoning') this.list.push(...this.#reasoning(part))
      if (part.type === 'call') this.list.push(this.#call(part))
    }
  }

  #message(role: string, content: readonly Json[]): void {
    if (content.length > 0) this.list.push({ type: 'message', role, content })
  }

  /** Writes reasoning without its id, because the vendor would look the id up and not find it. */
  #reasoning({ text, seal }: ReasoningPart): Json[] {
    const { context } = this.#needs
    const { reasoningReplay } = context.caps
    if (seal?.kind !== 'encrypted' || seal.model !== context.backendModel) return []
    if (reasoningReplay === 'refused' || reasoningReplay === 'unreadable') return []
    const summary = text === '' ? [] : [{ type: 'summary_text', text }]
    return [{ type: 'reasoning', summary, encrypted_content: seal.data }]
  }

  #call({ id, tool, input }: CallPart): Json {
    const { context, names } = this.#needs
    const [call_id, name] = [toCallId(id), names.toName(tool)]
    const isCustom = tool.kind === 'custom' && context.caps.customTools
    this.#customCalls.set(id, isCustom)
    if (isCustom) return { type: 'custom_tool_call', call_id, name, input }
    const args = tool.kind === 'custom' ? toArguments(input) : input || '{}'
    return { type: 'function_call', call_id, name, arguments: args }
  }

  #result({ callId, callPath, parts, failed }: ResultPart): void {
    const isCustom = this.#customCalls.get(callId)
    if (isCustom === undefined) refuseResult(callPath, callId)
    const shown = parts.flatMap(show)
    const texts = shown.flatMap((part) => (part.type === 'input_text' ? [String(part.text)] : []))
    const isText = texts.length === shown.length
    const text = failed ? `Error: ${texts.join('\n')}` : texts.join('\n')
    const marked = shown.findLast((part) => part.prompt_cache_breakpoint)
    const said = marked ? [{ ...marked, text }] : text
    const output = isText ? said : failed ? [{ type: 'input_text', text: 'Error:' }, ...shown] : shown
    const type = isCustom ? 'custom_tool_call_output' : 'function_call_output'
    this.list.push({ type, call_id: toCallId(callId), output })
  }
}

function show(part: Part): Json[] {
  const mark = writeBreakpoint(part.mark)
  switch (part.type) {
    case 'text':
    case 'refusal':
      return textOf(part).map(toInputText)
    case 'toolsAdded':
      return part.names.map((name) => ({ type: 'input_text', text: announceTool(name), ...mark }))
    case 'image':
      return [{ type: 'input_image', image_url: toUrl(part.source, part.path), detail: part.detail ?? 'auto', ...mark }]
    case 'document':
      return [{ ...writeDocument(part), ...mark }]
    case 'audio':
      return refuse(part.path, NO_AUDIO)
    default:
      return []
  }
}

function writeDocument(document: DocumentPart & Pick<Part, 'path'>): Json {
  const { name, title, path } = document
  const source = readableSource(document.source)
  if (source.kind === 'text') return { type: 'input_text', text: toDocumentText(document, source.text) }
  if (source.kind === 'url') return { type: 'input_file', file_url: source.url }
  return { type: 'input_file', filename: name ?? title ?? 'document.pdf', file_data: toUrl(source, path) }
}

type MarkedText = { readonly text: string; readonly mark?: CacheMark }

function textOf(part: Part): MarkedText[] {
  if ((part.type !== 'text' && part.type !== 'refusal') || part.text === '') return []
  return [{ text: part.text, ...(part.mark && { mark: part.mark }) }]
}

function toInputText({ text, mark }: MarkedText): Json {
  return { type: 'input_text', text, ...writeBreakpoint(mark) }
}
