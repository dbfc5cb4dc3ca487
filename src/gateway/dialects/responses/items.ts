import type { Json } from '../json/read-json.ts'
import { UNSIGNED_MARK } from '../unsigned-content.ts'
import type { CloseEvent, OpenPart, ToolRef } from '../neutral.ts'
import { writeUrlCitation } from '../parts/citations.ts'
import { toCallId } from '../tools/call-ids.ts'
import type { TranslationContext } from '../translated-dialect.ts'
import { toCompactionItem } from './compaction.ts'

/** An event of the responses dialect without its sequence number. */
export type ResponsesEvent = Json & { readonly type: string }

/** Writes the events of one output item. */
export type OpenItem = {
  open(): ResponsesEvent[]
  delta(text: string, logprobs: readonly unknown[]): ResponsesEvent[]
  /** Returns the final item, and the events that end it. */
  close(event: CloseEvent): { readonly item: Json; readonly events: ResponsesEvent[] }
}

type Needs = {
  readonly outputIndex: number
  readonly context: TranslationContext
  readonly wantsSeals: boolean
  /** Whether the client shows a part of type `refusal`. Otherwise a refusal is a text. */
  readonly showsRefusals: boolean
  /** A text is a summary of the conversation. */
  readonly compacts: boolean
}

/** Opens the output item for a part of the answer. All its events have the same id and index. */
export function openItem(part: OpenPart, needs: Needs): OpenItem {
  switch (part.kind) {
    case 'text':
      return needs.compacts ? compactionItem(needs) : messageItem(TEXT_PART, needs)
    case 'refusal':
      return messageItem(needs.showsRefusals ? REFUSAL_PART : TEXT_PART, needs)
    case 'search':
      return searchItem(needs)
    case 'reasoning':
      return reasoningItem(needs)
    case 'tool':
      return callItem(part.tool.kind === 'custom' ? CUSTOM_CALL : FUNCTION_CALL, toCallId(part.id), part.tool, needs)
  }
}

// ---- messages

type PartKind = {
  readonly toPart: (text: string, annotations: readonly Json[], logprobs: readonly unknown[]) => Json
  readonly delta: string
  readonly done: string
  readonly member: string
  /** The members that the delta and the done event have besides. */
  readonly extra: (logprobs: readonly unknown[]) => Json
}

const TEXT_PART: PartKind = {
  toPart: (text, annotations, logprobs) => ({ type: 'output_text', text, annotations, logprobs }),
  delta: 'response.output_text.delta',
  done: 'response.output_text.done',
  member: 'text',
  extra: (logprobs) => ({ logprobs }),
}

const REFUSAL_PART: PartKind = {
  toPart: (refusal) => ({ type: 'refusal', refusal }),
  delta: 'response.refusal.delta',
  done: 'response.refusal.done',
  member: 'refusal',
  extra: () => ({}),
}

function messageItem(kind: PartKind, { outputIndex, context }: Needs): OpenItem {
  const id = context.newId('msg_')
  const at = { item_id: id, output_index: outputIndex, content_index: 0 }
  const toItem = (status: string, content: Json[]): Json => ({
    id,
    type: 'message',
    status,
    role: 'assistant',
    content,
  })
  return {
    open: () => [
      itemEvent('added', outputIndex, toItem('in_progress', [])),
      { type: 'response.content_part.added', ...at, part: kind.toPart('', [], []) },
    ],
    delta: (delta, logprobs) => [{ type: kind.delta, ...at, delta, ...kind.extra(logprobs) }],
    close({ text, cut, citations = [], logprobs = [] }) {
      const annotations = citations.map((one): Json => ({ type: 'url_citation', ...writeUrlCitation(one, text) }))
      const part = kind.toPart(text, annotations, logprobs)
      const item = toItem(statusOf(cut), [part])
      return {
        item,
        events: [
          ...annotations.map((annotation, annotation_index) => {
            return { type: 'response.output_text.annotation.added', ...at, annotation_index, annotation }
          }),
          { type: kind.done, ...at, [kind.member]: text, ...kind.extra(logprobs) },
          { type: 'response.content_part.done', ...at, part },
          itemEvent('done', outputIndex, item),
        ],
      }
    },
  }
}

// ---- reasoning

/** Writes reasoning as a summary, the only form of reasoning that every client displays. */
function reasoningItem({ outputIndex, context, wantsSeals }: Needs): OpenItem {
  const id = context.newId('rs_')
  const at = { item_id: id, output_index: outputIndex, summary_index: 0 }
  const toPart = (text: string): Json => ({ type: 'summary_text', text })
  const toItem = (summary: Json[], sealed: string | null): Json => {
    return { id, type: 'reasoning', summary, ...(sealed !== null && { encrypted_content: sealed }) }
  }
  const sealOf = ({ seal, text }: CloseEvent): string | null => {
    if (!context.seals) return UNSIGNED_MARK
    return seal && wantsSeals ? context.seals.write(seal, text) : null
  }
  return {
    open: () => [
      itemEvent('added', outputIndex, toItem([], context.seals ? null : UNSIGNED_MARK)),
      { type: 'response.reasoning_summary_part.added', ...at, part: toPart('') },
    ],
    delta: (delta) => [{ type: 'response.reasoning_summary_text.delta', ...at, delta }],
    close(event) {
      const { text } = event
      const item = toItem(text === '' ? [] : [toPart(text)], sealOf(event))
      return {
        item,
        events: [
          { type: 'response.reasoning_summary_text.done', ...at, text },
          { type: 'response.reasoning_summary_part.done', ...at, part: toPart(text) },
          itemEvent('done', outputIndex, item),
        ],
      }
    },
  }
}

// ---- summaries

/** Writes a summary of the conversation, which its client sends back instead of it. */
function compactionItem({ outputIndex, context }: Needs): OpenItem {
  const id = context.newId('cmp_')
  return {
    open: () => [itemEvent('added', outputIndex, toCompactionItem(id, ''))],
    delta: () => [],
    close({ text }) {
      const item = toCompactionItem(id, text)
      return { item, events: [itemEvent('done', outputIndex, item)] }
    },
  }
}

// ---- web searches

/** Writes a search that the backend ran. Its query and the pages that it found are known when it is done. */
function searchItem({ outputIndex, context }: Needs): OpenItem {
  const id = context.newId('ws_')
  const at = { item_id: id, output_index: outputIndex }
  const toItem = (status: string, action: Json): Json => ({ id, type: 'web_search_call', status, action })
  return {
    open: () => [
      itemEvent('added', outputIndex, toItem('in_progress', { type: 'search', query: '' })),
      { type: 'response.web_search_call.in_progress', ...at },
      { type: 'response.web_search_call.searching', ...at },
    ],
    delta: () => [],
    close({ text: query, cut, found = [] }) {
      const sources = found.map(({ url }) => ({ type: 'url', url }))
      const item = toItem(statusOf(cut), { type: 'search', query, sources })
      return {
        item,
        events: [{ type: 'response.web_search_call.completed', ...at }, itemEvent('done', outputIndex, item)],
      }
    },
  }
}

// ---- calls

type CallKind = {
  readonly type: string
  readonly prefix: string
  /** The prefix of the events that carry the input of the call. */
  readonly event: string
  readonly member: string
}

const FUNCTION_CALL: CallKind = {
  type: 'function_call',
  prefix: 'fc_',
  event: 'response.function_call_arguments',
  member: 'arguments',
}

const CUSTOM_CALL: CallKind = {
  type: 'custom_tool_call',
  prefix: 'ctc_',
  event: 'response.custom_tool_call_input',
  member: 'input',
}

function callItem(kind: CallKind, callId: string, tool: ToolRef, { outputIndex, context }: Needs): OpenItem {
  const id = context.newId(kind.prefix)
  const at = { item_id: id, output_index: outputIndex }
  const toItem = (status: string, given: string): Json => ({
    id,
    type: kind.type,
    status,
    call_id: callId,
    ...named(tool),
    [kind.member]: given,
  })
  return {
    open: () => [itemEvent('added', outputIndex, toItem('in_progress', ''))],
    delta: (delta) => [{ type: `${kind.event}.delta`, ...at, delta }],
    close({ text, cut }) {
      const item = toItem(statusOf(cut), text)
      const done = { type: `${kind.event}.done`, ...at, ...(kind === FUNCTION_CALL && { name: tool.name }) }
      return { item, events: [{ ...done, [kind.member]: text }, itemEvent('done', outputIndex, item)] }
    },
  }
}

function named({ name, namespace }: ToolRef): Json {
  return namespace === null ? { name } : { name, namespace }
}

function statusOf(cut: boolean): string {
  return cut ? 'incomplete' : 'completed'
}

function itemEvent(what: 'added' | 'done', outputIndex: number, item: Json): ResponsesEvent {
  return { type: `response.output_item.${what}`, output_index: outputIndex, item }
}
