import type { ChatMessage, ChatPart, ChatToolCall } from './chunk.ts'
import { refuse } from '../refusal.ts'

export type ToolResult = { readonly callId: string; readonly text: string; readonly images: readonly ChatPart[] }

export type Conversation = {
  system(text: string): void
  user(parts: readonly ChatPart[]): void
  assistant(text: string): void
  call(call: ChatToolCall): void
  /** The answer to a call made before; without one it is refused at `param`, as the vendors do. */
  result(param: string, result: ToolResult): void
  messages(): ChatMessage[]
}

/**
 * Collects a history in the order in which chat engines insist: one system message first, turns that alternate, and the
 * answers to tool calls right behind the calls, before any text of the user. Texts of one turn are joined. A system
 * message in mid-conversation, which most chat templates reject, goes to the model inside the user's turn, marked.
 */
export function conversation(): Conversation {
  const system: string[] = []
  const turns: Turn[] = [newTurn()]
  const current = (): Turn => turns[turns.length - 1] ?? addTurn(turns)
  const assistantTurn = (): Turn => (current().user.length + current().results.length > 0 ? addTurn(turns) : current())

  return {
    system(text) {
      if (text === '') return
      if (turns.length === 1 && isEmpty(current())) system.push(text)
      else current().user.push({ type: 'text', text: `<system>\n${text}\n</system>` })
    },
    user(parts) {
      current().user.push(...parts)
    },
    assistant(text) {
      if (text !== '') assistantTurn().texts.push(text)
    },
    call(call) {
      assistantTurn().calls.push(call)
    },
    result(param, { callId, text, images }) {
      const turn = turns.findLast(({ calls }) => calls.some((call) => call.id === callId))
      if (!turn) refuse(param, `No tool call with the id ${callId} comes before this result.`)
      turn.results.push({ role: 'tool', tool_call_id: callId, content: text })
      turn.user.push(...images)
    },
    messages() {
      const first: ChatMessage[] = system.length === 0 ? [] : [{ role: 'system', content: system.join(PARAGRAPH) }]
      return [...first, ...turns.flatMap(toMessages)]
    },
  }
}

/** What the assistant said, the answers to its calls, then what the user said. */
type Turn = {
  readonly texts: string[]
  readonly calls: ChatToolCall[]
  readonly results: ChatMessage[]
  readonly user: ChatPart[]
}

const PARAGRAPH = '\n\n'

function newTurn(): Turn {
  return { texts: [], calls: [], results: [], user: [] }
}

function addTurn(turns: Turn[]): Turn {
  const turn = newTurn()
  turns.push(turn)
  return turn
}

function isEmpty(turn: Turn): boolean {
  return turn.texts.length + turn.calls.length + turn.results.length + turn.user.length === 0
}

function toMessages({ texts, calls, results, user }: Turn): ChatMessage[] {
  const messages: ChatMessage[] = []
  const text = texts.join(PARAGRAPH)
  if (calls.length > 0) messages.push({ role: 'assistant', content: text === '' ? null : text, tool_calls: calls })
  else if (text !== '') messages.push({ role: 'assistant', content: text })
  messages.push(...results)
  if (user.length > 0) messages.push({ role: 'user', content: toContent(user) })
  return messages
}

/** Plain text as a string, which every engine reads; parts only where there is an image. */
function toContent(parts: readonly ChatPart[]): string | ChatPart[] {
  const texts = parts.flatMap((part) => (part.type === 'text' ? [part.text] : []))
  return texts.length === parts.length ? texts.join(PARAGRAPH) : [...parts]
}
