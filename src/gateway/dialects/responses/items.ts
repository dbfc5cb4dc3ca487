import type { NewId } from '../dialect.ts'
import type { OpenPart } from '../chat/parts.ts'
import { LOCAL_REASONING } from '../local-reasoning.ts'
import type { Json } from '../json/read-json.ts'
import { type ResponsesTool, type ResponsesTools, toInput } from './tools.ts'

/** An event of the responses style before it has its number. */
export type ResponsesEvent = Json & { readonly type: string }

export type OpenItem = {
  open(): ResponsesEvent[]
  delta(text: string): ResponsesEvent[]
  /** The item as it stays, and the events that say so. `text` is all of it. */
  close(text: string, cut: boolean): { item: Json; events: ResponsesEvent[] }
}

type Needs = { readonly outputIndex: number; readonly newId: NewId; readonly tools: ResponsesTools }

/** The output item of the responses style for a part of the answer. Every event of it carries the one id and index. */
export function openItem(part: OpenPart, needs: Needs): OpenItem {
  switch (part.kind) {
    case 'text':
      return messageItem(TEXT_PART, needs)
    case 'refusal':
      return messageItem(REFUSAL_PART, needs)
    case 'reasoning':
      return reasoningItem(needs)
    case 'tool': {
      const tool = needs.tools.get(part.name) ?? { kind: 'function', name: part.name, namespace: null }
      return tool.kind === 'custom' ? customCallItem(part.id, tool, needs) : functionCallItem(part.id, tool, needs)
    }
  }
}

// ---- messages

type PartKind = {
  readonly toPart: (text: string) => Json
  readonly delta: string
  readonly done: string
  readonly member: string
  readonly extra: Json
}

const TEXT_PART: PartKind = {
  toPart: (text) => ({ type: 'output_text', text, annotations: [], logprobs: [] }),
  delta: 'response.output_text.delta',
  done: 'response.output_text.done',
  member: 'text',
  extra: { logprobs: [] },
}

const REFUSAL_PART: PartKind = {
  toPart: (refusal) => ({ type: 'refusal', refusal }),
  delta: 'response.refusal.delta',
  done: 'response.refusal.done',
  member: 'refusal',
  extra: {},
}

function messageItem(kind: PartKind, { outputIndex, newId }: Needs): OpenItem {
  const id = newId('msg_')
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
      { type: 'response.content_part.added', ...at, part: kind.toPart('') },
    ],
    delta: (delta) => [{ type: kind.delta, ...at, delta, ...kind.extra }],
    close(text, cut) {
      const item = toItem(statusOf(cut), [kind.toPart(text)])
      return {
        item,
        events: [
          { type: kind.done, ...at, [kind.member]: text, ...kind.extra },
          { type: 'response.content_part.done', ...at, part: kind.toPart(text) },
          itemEvent('done', outputIndex, item),
        ],
      }
    },
  }
}

// ---- reasoning

/** Shown as a summary, the one form of reasoning that every client displays. */
function reasoningItem({ outputIndex, newId }: Needs): OpenItem {
  const id = newId('rs_')
  const at = { item_id: id, output_index: outputIndex, summary_index: 0 }
  const toPart = (text: string): Json => ({ type: 'summary_text', text })
  const toItem = (summary: Json[]): Json => ({ id, type: 'reasoning', summary, encrypted_content: LOCAL_REASONING })
  return {
    open: () => [
      itemEvent('added', outputIndex, toItem([])),
      { type: 'response.reasoning_summary_part.added', ...at, part: toPart('') },
    ],
    delta: (delta) => [{ type: 'response.reasoning_summary_text.delta', ...at, delta }],
    close(text) {
      const item = toItem([toPart(text)])
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

// ---- calls

function functionCallItem(callId: string, tool: ResponsesTool, { outputIndex, newId }: Needs): OpenItem {
  const id = newId('fc_')
  const at = { item_id: id, output_index: outputIndex }
  const toItem = (status: string, args: string): Json => ({
    ...{ id, type: 'function_call', status, call_id: callId },
    ...named(tool),
    arguments: args,
  })
  return {
    open: () => [itemEvent('added', outputIndex, toItem('in_progress', ''))],
    delta: (delta) => [{ type: 'response.function_call_arguments.delta', ...at, delta }],
    close(text, cut) {
      const item = toItem(statusOf(cut), text)
      return {
        item,
        events: [
          { type: 'response.function_call_arguments.done', ...at, name: tool.name, arguments: text },
          itemEvent('done', outputIndex, item),
        ],
      }
    },
  }
}

/** The free text is known once the arguments around it are whole, so it comes in one delta. */
function customCallItem(callId: string, tool: ResponsesTool, { outputIndex, newId }: Needs): OpenItem {
  const id = newId('ctc_')
  const at = { item_id: id, output_index: outputIndex }
  const toItem = (status: string, input: string): Json => ({
    ...{ id, type: 'custom_tool_call', status, call_id: callId },
    ...named(tool),
    input,
  })
  return {
    open: () => [itemEvent('added', outputIndex, toItem('in_progress', ''))],
    delta: () => [],
    close(text, cut) {
      const input = toInput(text)
      const item = toItem(statusOf(cut), input)
      return {
        item,
        events: [
          { type: 'response.custom_tool_call_input.delta', ...at, delta: input },
          { type: 'response.custom_tool_call_input.done', ...at, input },
          itemEvent('done', outputIndex, item),
        ],
      }
    },
  }
}

function named({ name, namespace }: ResponsesTool): Json {
  return namespace === null ? { name } : { name, namespace }
}

function statusOf(cut: boolean): string {
  return cut ? 'incomplete' : 'completed'
}

function itemEvent(what: 'added' | 'done', outputIndex: number, item: Json): ResponsesEvent {
  return { type: `response.output_item.${what}`, output_index: outputIndex, item }
}
