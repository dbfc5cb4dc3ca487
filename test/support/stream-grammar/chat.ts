import { readList, readObject, readText } from '../../../src/gateway/dialects/json/read-json.ts'
import type { Json } from '../../../src/gateway/dialects/json/read-json.ts'
import { newCheck } from './check.ts'
import type { Check, Checker } from './check.ts'

/** The chat dialect: chunks, exactly one finish reason, `[DONE]` last; or an error chunk last and no `[DONE]`. */
export const checkChatStream: Checker = (events) => {
  const grammar = new ChatGrammar()
  events.forEach(({ event, data }, at) => grammar.take(event, data, at))
  return grammar.end(events.length)
}

class ChatGrammar {
  readonly #check: Check = newCheck()
  /** The names of the tool calls that have begun, by index. */
  readonly #calls = new Map<number, string>()
  #isFinished = false
  #id: unknown
  #model: unknown

  take(event: string | null, data: string, at: number): void {
    const check = this.#check
    check.at = at
    check(event === null, `a chat chunk has no event name, not ${String(event)}`)
    if (check.ended !== null) return check(false, `something follows ${check.ended}`)
    if (data === '[DONE]') {
      check.ended = '[DONE]'
      return check(this.#isFinished, '[DONE] comes without a finish_reason')
    }
    const chunk = check.object(data)
    if (chunk.error !== undefined) {
      check.ended = 'the error'
      return check(readText(readObject(chunk.error).message) !== '', 'the error has no message')
    }
    this.#chunk(chunk)
  }

  end(at: number): string[] {
    this.#check.at = at
    this.#check(this.#check.ended !== null, 'the stream has no end')
    return this.#check.violations
  }

  #chunk(chunk: Json): void {
    const check = this.#check
    const { id, model } = chunk
    check(chunk.object === 'chat.completion.chunk', 'object is not chat.completion.chunk')
    check(typeof model === 'string' && model !== '' && model === (this.#model ??= model), 'model is missing or changes')
    check(typeof id === 'string' && id === (this.#id ??= id), 'id is missing or changes')
    check(Array.isArray(chunk.choices), 'choices is not a list')
    for (const choice of readList(chunk.choices).map(readObject)) this.#choice(choice)
  }

  #choice(choice: Json): void {
    const check = this.#check
    const delta = readObject(choice.delta)
    const calls = readList(delta.tool_calls).map(readObject)
    const hasText = [delta.content, delta.reasoning, delta.reasoning_content, delta.refusal].some(
      (text) => text !== undefined && text !== null && text !== '',
    )
    check(typeof choice.index === 'number', 'a choice has no index')
    check(!this.#isFinished || !(hasText || calls.length > 0), 'content follows the finish_reason')
    for (const call of calls) this.#toolCall(call)
    if (typeof choice.finish_reason === 'string') {
      check(!this.#isFinished, 'a second finish_reason')
      this.#isFinished = true
    }
  }

  #toolCall(call: Json): void {
    const check = this.#check
    const { index } = call
    if (typeof index !== 'number') return check(false, 'a tool call has no index')
    const name = readText(readObject(call.function ?? call.custom).name)
    if (this.#calls.has(index))
      return check(name === '' || name === this.#calls.get(index), 'a tool call changes its name')
    check(readText(call.id) !== '' && name !== '', 'a tool call begins without id or name')
    this.#calls.set(index, name)
  }
}
