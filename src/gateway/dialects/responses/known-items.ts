import { readName, readObject } from '../json/read-json.ts'
import type { Json } from '../json/read-json.ts'

/** An item of an answer, as its first event describes it. */
export type KnownItem = {
  readonly key: string
  readonly id: string | null
  readonly index: unknown
  readonly type: unknown
  isDone: boolean
  /** The indexes of its contents, in their order. */
  readonly contents: Readonly<Record<ContentType, unknown[]>>
}

export type ContentType = 'output_text' | 'refusal'

/**
 * The items of a streamed answer, and the contents of its messages, each with a key. Servers write wrong indexes and
 * ids, so neither identifies an item by itself:
 * - Ollama gives a text and all calls behind it one index;
 * - SGLang ends reasoning with the index of the next item and a new id;
 * - GitHub Copilot writes another id in each event;
 * - llama.cpp's server writes no index;
 * - vLLM counts the contents of all items together, and older versions count each delta.
 */
export class KnownItems {
  readonly #items: KnownItem[] = []

  /** The item that an event is about. One that no event was about before is added. */
  itemOf(event: Json): KnownItem {
    const item = this.#find(event) ?? this.#add(event)
    item.isDone ||= event.type === 'response.output_item.done'
    return item
  }

  /** The key of an item that has begun and has no last event; null: there is none with this id. */
  openKeyOf(item: Json): string | null {
    const id = toId(undefined, item)
    return this.#items.find((known) => id !== null && known.id === id && !known.isDone)?.key ?? null
  }

  #find({ type: eventType, output_index: index, item_id, item }: Json): KnownItem | undefined {
    const id = toId(item_id, item)
    const { type } = readObject(item)
    const same = this.#items.findLast((known) => known.id === id && known.index === index)
    if (same || eventType === 'response.output_item.added') return same
    const withId = id === null ? undefined : this.#items.findLast((known) => known.id === id)
    const open = this.#items.filter(({ isDone }) => !isDone)
    const isAlike = (known: KnownItem) => type === undefined || known.type === undefined || known.type === type
    return (
      withId ??
      open.findLast((known) => known.index === index && isAlike(known)) ??
      open.findLast((known) => type !== undefined && known.type === type)
    )
  }

  #add({ output_index: index, item_id, item }: Json): KnownItem {
    const added: KnownItem = {
      key: String(this.#items.length),
      id: toId(item_id, item),
      index,
      type: readObject(item).type,
      isDone: false,
      contents: { output_text: [], refusal: [] },
    }
    this.#items.push(added)
    return added
  }
}

/** The key of the content of this type that an event of a message is about. */
export function contentKeyOf({ key, contents }: KnownItem, { content_index: index }: Json, type: ContentType): string {
  const indexes = contents[type]
  if (indexes.length === 0) indexes.push(index)
  const known = indexes.indexOf(index)
  return toContentKey(key, type, known === -1 ? indexes.length - 1 : known)
}

/** Notes that a content of a message begins. */
export function noteContent({ contents }: KnownItem, event: Json): void {
  const { type } = readObject(event.part)
  if (type !== 'output_text' && type !== 'refusal') return
  const indexes = contents[type]
  if (!indexes.includes(event.content_index)) indexes.push(event.content_index)
}

/** The key of a content by its place among those of its type. */
export function toContentKey(itemKey: string, type: ContentType, place: number): string {
  return `${itemKey}.${type}.${place}`
}

/** llama.cpp's server writes no id of an item that is a call. */
function toId(itemId: unknown, item: unknown): string | null {
  const { id, call_id } = readObject(item)
  return readName(itemId) ?? readName(id) ?? readName(call_id)
}
