import type { ModelCaps } from '../caps.ts'
import { parseObject, readText } from '../json/read-json.ts'
import type { Json } from '../json/read-json.ts'
import type { CallPart, DocumentPart, NeutralRequest, Part, ReasoningPart, ResultPart, Seal } from '../neutral.ts'
import { writeBreakpoint } from '../parts/content-list.ts'
import { toUrl } from '../parts/data-url.ts'
import { readableSource, toDocumentText } from '../parts/documents.ts'
import { refuse, refuseResult } from '../refusal.ts'
import { keepBroken, toArguments } from '../tools/custom-tools.ts'
import { toCallId } from '../tools/call-ids.ts'
import { announceTool } from '../tools/tool-names.ts'
import type { ToolNames } from '../tools/tool-names.ts'
import type { TranslationContext } from '../translated-dialect.ts'
import { toAcceptedHistory } from './accepted-history.ts'
import { addDetails, unsealReplayData, withoutUnsigned } from './replay-data.ts'
import type { ChatMessage, ChatPart, ChatTextPart, ChatToolCall } from './wire.ts'

type Needs = {
  readonly context: TranslationContext
  readonly names: ToolNames
  /** A text to append to the system prompt. */
  readonly note: string | null
}

/**
 * Writes the turns of a request as chat messages, in the order that chat engines require: one system message first,
 * then turns that alternate, with the results of tool calls directly after the calls and before any text of the user.
 * Texts of one turn are joined. Most chat templates refuse a system text in the middle of a conversation; it then
 * becomes marked text in the user's turn.
 */
export function writeChatHistory({ turns }: NeutralRequest, needs: Needs): ChatMessage[] {
  const history = new History(needs)
  for (const { role, parts } of turns) {
    if (role === 'system') history.system(parts)
    else if (role === 'assistant') history.assistant(parts)
    else history.user(parts)
  }
  return toAcceptedHistory(history.messages(), needs.context.caps)
}

/** A turn of the assistant, the results of its calls, then the turn of the user. */
type Round = {
  readonly texts: string[]
  readonly reasoning: string[]
  /** Replay data of the message. */
  readonly details: Json[]
  readonly calls: ChatToolCall[]
  readonly results: ChatMessage[]
  readonly user: (ChatPart | SystemText)[]
}
type SystemText = { readonly type: 'system'; readonly part: ChatTextPart }

const PARAGRAPH = '\n\n'

/** The limit for the id of a call of Azure OpenAI and of older models (langgenius/dify#28987). */
const MAX_ID_CHARACTERS = 40

/** Engines parse arguments for their chat template, and refuse the whole conversation when that fails. */
function toReadable(args: string): string {
  return parseObject(args) ? args : JSON.stringify(keepBroken(args))
}

class History {
  readonly #needs: Needs
  readonly #leading: ChatTextPart[] = []
  readonly #rounds: Round[] = [newRound()]
  /** The round of each call, by its id. */
  readonly #roundOfCall = new Map<string, Round>()
  /** The ids of calls that the details of reasoning name, by the id that the client has. */
  readonly #namedIds = new Map<string, string>()
  /** Replay data of calls, by the id of the call. */
  readonly #extras = new Map<string, Json>()

  constructor(needs: Needs) {
    this.#needs = needs
  }

  system(parts: readonly Part[]): void {
    const text = joinTexts(parts)
    if (text === '') return
    const part: ChatTextPart = { type: 'text', text, ...writeBreakpoint(parts.findLast(({ mark }) => mark)?.mark) }
    const round = this.#ofUser()
    if (isEmpty(round)) this.#leading.push(part)
    else if (this.#needs.context.caps.midSystem) round.user.push({ type: 'system', part })
    else round.user.push({ ...part, text: `<system>\n${text}\n</system>` })
  }

  assistant(parts: readonly Part[]): void {
    const text = joinTexts(parts)
    if (text !== '') this.#ofAssistant().texts.push(text)
    for (const part of parts) {
      if (part.type === 'call') this.#call(part)
      if (part.type === 'reasoning') this.#reasoning(part)
    }
  }

  user(parts: readonly Part[]): void {
    for (const part of parts) {
      if (part.type === 'result') this.#result(part)
      else this.#ofUser().user.push(...this.#show(part))
    }
  }

  messages(): ChatMessage[] {
    const { note } = this.#needs
    const leading: ChatTextPart[] = note === null ? this.#leading : [...this.#leading, { type: 'text', text: note }]
    const first: ChatMessage[] = leading.length === 0 ? [] : [{ role: 'system', content: toText(leading) ?? leading }]
    return [...first, ...this.#rounds.flatMap((round) => this.#toMessages(round))]
  }

  #current(): Round {
    return this.#rounds.at(-1) ?? this.#add()
  }

  #ofAssistant(): Round {
    const { user, results } = this.#current()
    return user.length + results.length > 0 ? this.#add() : this.#current()
  }

  /**
   * The round that the user goes on. Only the first one is empty, before any message. A turn with reasoning only is no
   * message, so its round is dropped.
   */
  #ofUser(): Round {
    if (this.#rounds.length > 1 && isEmpty(this.#current())) this.#rounds.pop()
    return this.#current()
  }

  #add(): Round {
    const round = newRound()
    this.#rounds.push(round)
    return round
  }

  #reasoning(part: ReasoningPart): void {
    const { seal, text } = part
    if (seal) this.#giveBack(seal)
    if (this.#isReplayed(part)) this.#ofAssistant().reasoning.push(text)
  }

  /** Returns the replay data to the backend. Details of another model are left out: only their vendor reads them. */
  #giveBack(seal: Seal): void {
    const { extras, details } = unsealReplayData(seal)
    if (extras) this.#extras.set(toCallId(seal.before ?? ''), extras)
    if (details.length === 0 || seal.model !== this.#needs.context.backendModel) return
    addDetails(this.#ofAssistant().details, details)
    for (const id of details.map((detail) => readText(detail.id))) this.#namedIds.set(toCallId(id), id)
  }

  #call(part: CallPart): void {
    const round = this.#ofAssistant()
    const extras = this.#extras.get(toCallId(part.id))
    round.calls.push({ ...this.#toCall(part), ...(extras && { extra_content: extras }) })
    this.#roundOfCall.set(part.id, round)
  }

  /**
   * Adds the result of a tool call. Tool messages of this dialect hold only text, so images and files follow in the
   * user's turn, and a failed tool is marked in the text.
   */
  #result({ callId, callPath, parts, failed }: ResultPart): void {
    const round = this.#roundOfCall.get(callId)
    if (!round) refuseResult(callPath, callId)
    const shown = parts.flatMap((part) => this.#show(part))
    const rest = shown.filter((part) => part.type !== 'text')
    const texts = shown.filter((part) => part.type === 'text')
    const said = texts.map(({ text }) => text).join('\n')
    const text = said === '' && rest.length > 0 ? describeFollowing(rest) : said
    const marked = texts.findLast((part) => part.prompt_cache_breakpoint)
    const part: ChatTextPart = { ...marked, type: 'text', text: failed ? `Error: ${text}` : text }
    round.results.push({ role: 'tool', tool_call_id: this.#toId(callId), content: toText([part]) ?? [part] })
    round.user.push(...rest)
  }

  #show(part: Part): ChatPart[] {
    const { caps } = this.#needs.context
    const mark = writeBreakpoint(part.mark)
    switch (part.type) {
      case 'text':
      case 'refusal':
        return part.text === '' ? [] : [{ type: 'text', text: part.text, ...mark }]
      case 'toolsAdded':
        return part.names.map((name) => ({ type: 'text', text: announceTool(name), ...mark }))
      case 'image': {
        const image = { url: toUrl(part.source, part.path), ...writeDetail(part.detail, caps) }
        return [{ type: 'image_url', image_url: image, ...mark }]
      }
      case 'document':
        return [{ ...writeDocument(part), ...mark }]
      case 'audio':
        return [{ type: 'input_audio', input_audio: { data: part.base64, format: part.format }, ...mark }]
      default:
        return []
    }
  }

  /** The id of a call for the backend. A detail of reasoning finds its call by the id that the backend gave it. */
  #toId(id: string): string {
    return this.#namedIds.get(toCallId(id)) ?? toCallId(id, MAX_ID_CHARACTERS)
  }

  #toCall({ id, tool, input }: CallPart): ChatToolCall {
    const name = this.#needs.names.toName(tool)
    if (tool.kind === 'custom' && this.#needs.context.caps.customTools) {
      return { id: this.#toId(id), type: 'custom', custom: { name, input } }
    }
    const args = tool.kind === 'custom' ? toArguments(input) : toReadable(input)
    return { id: this.#toId(id), type: 'function', function: { name, arguments: args } }
  }

  /** Reasoning is sent back only to the model that wrote it, and only if its backend accepts reasoning. */
  #isReplayed({ text, seal }: ReasoningPart): boolean {
    const { caps, backendModel } = this.#needs.context
    if (text === '' || caps.reasoningReplay === 'refused') return false
    return seal ? seal.model === backendModel : caps.reasoningReplay === 'required'
  }

  #toMessages({ texts, reasoning, details, calls, results, user }: Round): ChatMessage[] {
    const text = texts.join(PARAGRAPH)
    const signed = withoutUnsigned(details)
    const thought = {
      ...(reasoning.length > 0 && { reasoning_content: reasoning.join(PARAGRAPH) }),
      ...(signed.length > 0 && { reasoning_details: signed }),
    }
    const messages: ChatMessage[] = []
    if (calls.length > 0) {
      messages.push({ role: 'assistant', content: text === '' ? null : text, ...thought, tool_calls: calls })
    } else if (text !== '') messages.push({ role: 'assistant', content: text, ...thought })
    return [...messages, ...results, ...toUserMessages(user)]
  }
}

function writeDocument(document: DocumentPart & Pick<Part, 'path'>): ChatPart {
  const { name, title, path } = document
  const source = readableSource(document.source)
  if (source.kind === 'text') return { type: 'text', text: toDocumentText(document, source.text) }
  if (source.kind === 'url') refuse(path, 'This model fetches no documents: send the data of the document.')
  return { type: 'file', file: { file_data: toUrl(source, path), filename: name ?? title ?? 'document.pdf' } }
}

/** Engines refuse `original`, with which Codex sends the images that its tools have read. */
function writeDetail(detail: string | null, { vendorHints }: ModelCaps): { detail?: string } {
  if (detail === null || detail === 'auto') return {}
  return { detail: detail === 'original' && !vendorHints ? 'high' : detail }
}

function newRound(): Round {
  return { texts: [], reasoning: [], details: [], calls: [], results: [], user: [] }
}

function describeFollowing(parts: readonly ChatPart[]): string {
  const isImage = parts.every(({ type }) => type === 'image_url')
  return `The result is the ${isImage ? 'image' : 'file'} that follows.`
}

function isEmpty({ texts, calls, results, user }: Round): boolean {
  return texts.length + calls.length + results.length + user.length === 0
}

function joinTexts(parts: readonly Part[]): string {
  return parts.flatMap((part) => (part.type === 'text' || part.type === 'refusal' ? [part.text] : [])).join('\n')
}

/** Writes the user's messages, with system texts between them in their original order. */
function toUserMessages(parts: Round['user']): ChatMessage[] {
  const messages: ChatMessage[] = []
  let shown: ChatPart[] = []
  const flush = (): void => {
    if (shown.length > 0) messages.push({ role: 'user', content: toText(shown) ?? shown })
    shown = []
  }
  for (const part of parts) {
    if (part.type !== 'system') shown.push(part)
    else {
      flush()
      messages.push({ role: 'system', content: toText([part.part]) ?? [part.part] })
    }
  }
  flush()
  return messages
}

/** Joins plain texts into one string, which every engine accepts. Null when a part is not text, or has a mark. */
function toText(parts: readonly ChatPart[]): string | null {
  const texts = parts.flatMap((part) => (part.type === 'text' && !part.prompt_cache_breakpoint ? [part.text] : []))
  return texts.length === parts.length ? texts.join(PARAGRAPH) : null
}
