import type { Json } from '../json/read-json.ts'
import { parseObject, readArguments, readList, readName, readObject, readText } from '../json/read-json.ts'
import type { AnswerEvent, AnswerSeal, Citation, OpenPart, WebPage } from '../neutral.ts'
import type { PartQueue } from '../parts/part-queue.ts'
import type { ToolNames } from '../tools/tool-names.ts'

/** A search that the backend runs. Its result is a block of its own, which has the id of the search. */
type Search = { readonly key: string; input: string }

/**
 * Reads the content blocks of a message into parts of the answer. Each block has a `key` of its own. Blocks of tools
 * that the vendor runs are skipped, except for its web search.
 */
export class AnswerBlockReader {
  readonly #parts: PartQueue<string>
  readonly #names: ToolNames
  readonly #signatures = new Map<string, AnswerSeal>()
  /** The arguments with which each call was opened. They count where no delta follows. */
  readonly #calls = new Map<string, string>()
  readonly #citations = new Map<string, Citation[]>()
  readonly #searches = new Map<string, Search>()
  /** A call that has ended and is not closed yet. */
  #unclosed: string | null = null

  constructor(parts: PartQueue<string>, names: ToolNames) {
    this.#parts = parts
    this.#names = names
  }

  /** Closes a call that has ended. `isCut`: the answer ended early, so its arguments may be incomplete. */
  closeCall(isCut: boolean): AnswerEvent[] {
    const key = this.#unclosed
    this.#unclosed = null
    if (key === null) return []
    return this.#parts.close(key, { cut: isCut, text: this.#calls.get(key) ?? '' })
  }

  open(key: string, block: Json): AnswerEvent[] {
    if (block.type === 'web_search_tool_result') return this.#closeSearch(block)
    this.#noteOpened(key, block)
    const part = toPart(block, this.#names)
    if (!part) return []
    const text = readText(block.text) + readText(block.thinking)
    return [...this.#parts.open(key, part), ...this.#parts.delta(key, text)]
  }

  delta(key: string, delta: Json): AnswerEvent[] {
    switch (delta.type) {
      case 'text_delta':
        return this.#parts.delta(key, readText(delta.text))
      case 'thinking_delta':
        return this.#parts.delta(key, readText(delta.thinking))
      case 'input_json_delta':
        return this.#takeInput(key, readText(delta.partial_json))
      case 'citations_delta':
        this.#citations.get(key)?.push(...toCitation(delta.citation))
        return []
      case 'signature_delta':
        // The last signature counts.
        this.#signatures.set(key, toSigned(delta.signature))
        return []
      default:
        return []
    }
  }

  /** Ends a block. A call stays open until `closeCall`. */
  close(key: string): AnswerEvent[] {
    if (this.#calls.has(key)) {
      const closing = this.closeCall(false)
      this.#unclosed = key
      return closing
    }
    if (this.#findSearch(key)) return []
    const citations = this.#citations.get(key) ?? []
    const seal = this.#signatures.get(key) ?? null
    return this.#parts.close(key, { seal, ...(citations.length > 0 && { citations }) })
  }

  /** Remembers what the end of the block needs. */
  #noteOpened(key: string, block: Json): void {
    if (block.type === 'tool_use') this.#calls.set(key, readArguments(block.input) || '{}')
    if (readName(block.signature) !== null) this.#signatures.set(key, toSigned(block.signature))
    if (block.type === 'redacted_thinking')
      this.#signatures.set(key, { kind: 'redacted', data: readText(block.data), before: null })
    if (block.type === 'server_tool_use' && block.name === 'web_search') {
      const input = Object.keys(readObject(block.input)).length > 0 ? JSON.stringify(block.input) : ''
      this.#searches.set(readText(block.id), { key, input })
    }
    this.#citations.set(key, readList(block.citations).flatMap(toCitation))
  }

  #takeInput(key: string, json: string): AnswerEvent[] {
    const search = this.#findSearch(key)
    if (!search) return this.#parts.delta(key, json)
    search.input += json
    return []
  }

  #findSearch(key: string): Search | undefined {
    return [...this.#searches.values()].find((search) => search.key === key)
  }

  #closeSearch({ tool_use_id: id, content }: Json): AnswerEvent[] {
    const search = this.#searches.get(readText(id))
    if (!search) return []
    const found = readList(content).flatMap(toWebPage)
    return this.#parts.close(search.key, { text: readText(parseObject(search.input)?.query), found })
  }
}

function toSigned(signature: unknown): AnswerSeal {
  return { kind: 'signed', data: readText(signature), before: null }
}

function toPart(block: Json, names: ToolNames): OpenPart | null {
  switch (block.type) {
    case 'text':
      return { kind: 'text' }
    case 'thinking':
    case 'redacted_thinking':
      return { kind: 'reasoning' }
    case 'server_tool_use':
      return block.name === 'web_search' ? { kind: 'search' } : null
    case 'tool_use':
      return { kind: 'tool', id: readText(block.id), tool: names.toTool(readText(block.name)) }
    default:
      return null
  }
}

/** A citation belongs to its whole block. Those of documents have no address and are left out. */
function toCitation(citation: unknown): Citation[] {
  return toWebPage(citation).map((page) => ({ ...page, range: null }))
}

function toWebPage(value: unknown): WebPage[] {
  const { url, title } = readObject(value)
  const address = readName(url)
  return address === null ? [] : [{ url: address, title: readName(title) }]
}
