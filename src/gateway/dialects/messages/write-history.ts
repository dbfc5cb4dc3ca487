import { parseExactly } from '../json/read-json.ts'
import type { Json } from '../json/read-json.ts'
import type {
  CacheMark,
  CallPart,
  DocumentPart,
  NeutralRequest,
  Part,
  ReasoningPart,
  ResultPart,
  Source,
  Turn,
} from '../neutral.ts'
import { requireFetchable, toBase64 } from '../parts/data-url.ts'
import { readableSource } from '../parts/documents.ts'
import { withReasoningBeforeCalls } from '../parts/reasoning-order.ts'
import { NO_AUDIO, refuse, refuseResult } from '../refusal.ts'
import { keepBroken, toArguments } from '../tools/custom-tools.ts'
import { toCallId } from '../tools/call-ids.ts'
import { announceTool } from '../tools/tool-names.ts'
import type { ToolNames } from '../tools/tool-names.ts'
import type { TranslationContext } from '../translated-dialect.ts'
import { withThinking } from './accepted-request.ts'

type Needs = {
  readonly context: TranslationContext
  readonly names: ToolNames
  /** Texts to append to the system prompt. */
  readonly notes: readonly (string | null)[]
  readonly keepsReasoning: boolean
}

/** A message of a messages request. */
export type Message = { readonly role: Turn['role']; readonly content: Json[] }

/**
 * Writes the turns of a request as system blocks and messages. All results of one assistant turn go into the user turn
 * after it, before its other content. Blank texts are left out, because the vendor refuses them. Consecutive messages
 * of one role are joined.
 */
export function writeMessagesHistory({ turns }: NeutralRequest, needs: Needs): { system: Json[]; messages: Message[] } {
  // With system texts only, `first` is -1: the last of them is written as a message, because there must be one.
  const first = turns.findIndex(({ role }) => role !== 'system')
  const [leading, later] = [turns.slice(0, first), turns.slice(first)]
  const system = leading.flatMap(({ parts }) => parts.flatMap(writeText))
  for (const note of needs.notes) if (note !== null) system.push({ type: 'text', text: note })
  const history = new History(needs)
  for (const turn of later) history.add(turn)
  const written = history.messages()
  const messages = needs.context.caps.reasoningReplay === 'required' ? written.map(withThinking) : written
  const last = messages.at(-1)
  if (last?.role === 'assistant' && !needs.context.caps.prefill) {
    const path = turns.findLast(({ role }) => role === 'assistant')?.path ?? 'messages'
    refuse(path, 'This model does not continue a turn of the assistant: end with a turn of the user.')
  }
  if (last?.role === 'assistant') trimEnd(last.content)
  return { system, messages }
}

/** The vendor refuses white space at the end of a text that its model continues. */
function trimEnd(content: Json[]): void {
  const last = content.at(-1)
  if (last?.type === 'text') content.splice(-1, 1, { ...last, text: String(last.text).trimEnd() })
}

/** Writes a cache mark. */
export function toMark(mark: CacheMark | undefined): { cache_control?: Json } {
  if (!mark) return {}
  return { cache_control: { type: 'ephemeral', ...(mark.ttl === 'long' && { ttl: '1h' }) } }
}

/** A turn of the assistant, the results of its calls, then the turns of the user and of the system. */
type Round = {
  readonly said: Json[]
  readonly results: Json[]
  readonly user: Json[]
  readonly system: Json[]
}

class History {
  readonly #needs: Needs
  readonly #rounds: Round[] = [newRound()]
  /** The round of each call, by its id. */
  readonly #roundOfCall = new Map<string, Round>()

  constructor(needs: Needs) {
    this.#needs = needs
  }

  add({ role, parts }: Turn): void {
    if (role === 'assistant') this.#assistant(parts)
    else if (role === 'system') this.#system(parts)
    else for (const part of parts) this.#user(part)
  }

  messages(): Message[] {
    const messages = this.#rounds.flatMap(toMessages)
    const joined: Message[] = []
    for (const { role, content } of messages) {
      if (content.length === 0) continue
      const last = joined.at(-1)
      if (last?.role === role) last.content.push(...content)
      else joined.push({ role, content: [...content] })
    }
    return joined
  }

  #current(): Round {
    return this.#rounds.at(-1) ?? this.#add()
  }

  #add(): Round {
    const round = newRound()
    this.#rounds.push(round)
    return round
  }

  #assistant(parts: readonly Part[]): void {
    const said: Json[] = []
    const calls: string[] = []
    for (const part of withReasoningBeforeCalls(parts)) {
      if (part.type === 'text' || part.type === 'refusal') said.push(...writeText(part))
      if (part.type === 'reasoning') said.push(...this.#reasoning(part))
      if (part.type === 'call') {
        said.push(this.#call(part))
        calls.push(part.id)
      }
    }
    // An empty turn is left out. The vendor wants a system message to be last, or before one of the assistant.
    if (said.length === 0) return
    const round = this.#ofAssistant()
    round.said.push(...said)
    for (const id of calls) this.#roundOfCall.set(id, round)
  }

  #ofAssistant(): Round {
    const current = this.#current()
    return current.user.length + current.results.length + current.system.length > 0 ? this.#add() : current
  }

  /** Writes reasoning of any model; the vendor decides whether this model can read it. */
  #reasoning({ text, seal }: ReasoningPart): Json[] {
    if (!this.#needs.keepsReasoning) return []
    if (seal?.kind === 'signed') return [{ type: 'thinking', thinking: text, signature: seal.data }]
    return seal?.kind === 'redacted' ? [{ type: 'redacted_thinking', data: seal.data }] : []
  }

  #call({ id, tool, input, mark }: CallPart & { readonly mark?: CacheMark }): Json {
    const args = tool.kind === 'custom' ? toArguments(input) : input || '{}'
    // Arguments that are not an object are passed to the model as text.
    const parsed = parseExactly(args) ?? keepBroken(input)
    return { type: 'tool_use', id: toCallId(id), name: this.#needs.names.toName(tool), input: parsed, ...toMark(mark) }
  }

  #system(parts: readonly Part[]): void {
    const blocks = parts.flatMap(writeText)
    const { user, system } = this.#current()
    if (this.#needs.context.caps.midSystem) system.push(...blocks)
    else user.push(...blocks.map(toMarkedText))
  }

  #user(part: Part): void {
    if (part.type === 'result') return this.#result(part)
    this.#current().user.push(...show(part))
  }

  #result({ callId, callPath, parts, failed, mark }: ResultPart & { readonly mark?: CacheMark }): void {
    const round = this.#roundOfCall.get(callId)
    if (!round) refuseResult(callPath, callId)
    round.results.push({
      type: 'tool_result',
      tool_use_id: toCallId(callId),
      content: parts.flatMap(show),
      ...(failed && { is_error: true }),
      ...toMark(mark),
    })
  }
}

function show(part: Part): Json[] {
  const mark = toMark(part.mark)
  switch (part.type) {
    case 'text':
    case 'refusal':
      return writeText(part)
    case 'toolsAdded':
      return part.names.map((name) => ({ type: 'text', text: announceTool(name) }))
    case 'image':
      return [{ type: 'image', source: writeImageSource(part.source, part.path), ...mark }]
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
  if (source.kind === 'bytes' && source.mediaType !== 'application/pdf') refuse(path, PDF_ONLY)
  const called = title ?? name
  return { type: 'document', source: writeSource(source, path), ...(called !== null && { title: called }) }
}

const PDF_ONLY = 'This model reads only PDF files: send the text of the document, or convert it to PDF.'

function newRound(): Round {
  return { said: [], results: [], user: [], system: [] }
}

/** A system message must follow a user message. Without one, its text becomes marked text of a user message. */
function toMessages({ said, results, user, system }: Round): Message[] {
  const shown = [...results, ...user]
  const isAlone = shown.length === 0
  return [
    { role: 'assistant', content: said },
    { role: 'user', content: isAlone ? system.map(toMarkedText) : shown },
    { role: 'system', content: isAlone ? [] : system },
  ]
}

function toMarkedText(block: Json): Json {
  return { ...block, text: `<system>\n${String(block.text)}\n</system>` }
}

function writeText(part: Part): Json[] {
  if (part.type !== 'text' && part.type !== 'refusal') return []
  return part.text.trim() === '' ? [] : [{ type: 'text', text: part.text, ...toMark(part.mark) }]
}

/** Names the type that the bytes have. Anthropic refuses an image with a wrong one, which other vendors accept. */
function writeImageSource(source: Source, path: string): Json {
  if (source.kind !== 'bytes') return writeSource(source, path)
  const type = IMAGE_TYPES.find(({ start }) => source.base64.startsWith(start))
  return writeSource({ ...source, mediaType: type?.mediaType ?? source.mediaType }, path)
}

/** How the images that the vendor reads begin, in base64. */
const IMAGE_TYPES = [
  { start: 'iVBORw0KGgo', mediaType: 'image/png' },
  { start: '/9j/', mediaType: 'image/jpeg' },
  { start: 'R0lGOD', mediaType: 'image/gif' },
  { start: 'UklGR', mediaType: 'image/webp' },
] as const

function writeSource(source: Source, path: string): Json {
  if (source.kind === 'url') return { type: 'url', url: requireFetchable(source.url, path) }
  if (source.kind === 'text') return { type: 'text', media_type: 'text/plain', data: source.text }
  return { type: 'base64', media_type: source.mediaType, data: toBase64(source.base64, path) }
}
