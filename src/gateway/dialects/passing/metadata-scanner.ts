/** Reads the metadata of an answer while its bytes pass. */
import { ByteChunks } from '../../../kernel/pieces.ts'
import type { DialectTraits } from '../dialect.ts'
import { parseObject, readName } from '../json/read-json.ts'
import { makeSseDecoder } from '../sse/decode.ts'
import { startsJson } from '../tokens/usage-scanner.ts'

/** What an answer says of itself besides its content and its usage. */
export type AnswerMetadata = {
  readonly model: string | null
  /** Why the answer ended, in the words of its dialect: one for each choice. */
  readonly finishReasons: readonly string[]
  /** The vendor's word for the service tier that served the call. */
  readonly serviceTier: string | null
}

export type MetadataScanner = {
  push(chunk: Buffer): void
  end(): AnswerMetadata
}

/** A larger answer is not read. */
const MAX_WHOLE_BYTES = 1024 * 1024
/** An event that may say why the answer ends. Most others need not be parsed. */
const REASON = /"(?:finish_reason|stop_reason|status)"\s*:\s*"/

/** Makes a scanner for one answer of a dialect, whole or a stream. What it cannot read is unknown. */
export function scanMetadata({ readMetadata }: Pick<DialectTraits, 'readMetadata'>): MetadataScanner {
  const decoder = makeSseDecoder(MAX_WHOLE_BYTES)
  const held = new ByteChunks()
  let isWhole: boolean | null = null
  let isUnreadable = false
  let model: string | null = null
  let serviceTier: string | null = null
  const finishReasons: string[] = []

  function note(text: string): void {
    const written = readMetadata(parseObject(text) ?? {})
    model ??= toWord(written.model)
    serviceTier = toWord(written.serviceTier) ?? serviceTier
    finishReasons.push(...written.finishReasons.flatMap((reason) => toWord(reason) ?? []))
  }

  function take(chunk: Buffer): void {
    isWhole ??= startsJson(chunk)
    if (isWhole !== true) {
      for (const { data } of decoder.push(chunk)) if (model === null || REASON.test(data)) note(data)
      return
    }
    held.add(chunk)
    if (held.length > MAX_WHOLE_BYTES) throw new Error('The answer is too large.')
  }

  return {
    push(chunk) {
      if (isUnreadable) return
      try {
        take(chunk)
      } catch {
        isUnreadable = true
        held.clear()
      }
    },
    end() {
      if (held.length > 0) note(held.take().toString())
      return { model, finishReasons, serviceTier }
    },
  }
}

/** Spans and records never contain content, so only what looks like a name is taken. */
function toWord(value: unknown): string | null {
  const text = readName(value)
  return text !== null && /^[\w.:/@+-]{1,128}$/.test(text) ? text : null
}
