import { DEFAULT_CAPS } from '../caps.ts'
import type { Dialect } from '../dialect.ts'
import type { Json } from '../json/read-json.ts'
import type { NeutralRequest, Part, Source, Tool } from '../neutral.ts'
import { orRefused } from '../refusal.ts'
import type { Refusal } from '../refusal.ts'
import { TRANSLATED } from '../translate.ts'
import type { TranslationContext } from '../translated-dialect.ts'

/** English has about four bytes per token; code and other scripts have fewer. */
const BYTES_PER_TOKEN = 3
const IMAGE_TOKENS = 1600
const PDF_BYTES_PER_TOKEN = 20
/** Covers the text of a chat template and differences between tokenizers. */
const MARGIN = 1.1

/**
 * Estimates the tokens of a request, for a backend that cannot count them. The estimate is high rather than low,
 * because with a low number an agent shortens the conversation too late. It counts texts, tool schemas, calls, results,
 * images and documents.
 */
export function estimateTokens(
  dialect: Dialect,
  body: Json,
): { readonly inputTokens: number } | { readonly refused: Refusal } {
  return orRefused(() => {
    const { request } = TRANSLATED[dialect].readRequest(body, NO_TRANSLATION)
    return { inputTokens: Math.ceil(countTokens(request) * MARGIN) }
  })
}

/** A context for reading a request that is not sent. */
const NO_TRANSLATION: TranslationContext = {
  model: '',
  backendModel: '',
  newId: (prefix) => prefix,
  createdAt: 0,
  caps: DEFAULT_CAPS.messages,
  isCodex: false,
  sessionId: null,
  seals: null,
}

function countTokens({ turns, tools }: NeutralRequest): number {
  const parts = turns.flatMap((turn) => turn.parts)
  const ofTools = tools.reduce((sum, tool) => sum + textTokens(describe(tool)), 0)
  return parts.reduce((sum, part) => sum + partTokens(part), ofTools)
}

function describe(tool: Tool): string {
  if (tool.kind === 'hosted') return tool.type
  return `${tool.name}${tool.description ?? ''}${JSON.stringify(tool.schema ?? {})}`
}

function partTokens(part: Part): number {
  switch (part.type) {
    case 'text':
    case 'refusal':
    case 'reasoning':
      return textTokens(part.text)
    case 'call':
      return textTokens(part.tool.name + part.input)
    case 'result':
      return part.parts.reduce((sum, inner) => sum + partTokens(inner), 0)
    case 'image':
      return IMAGE_TOKENS
    case 'document':
      return documentTokens(part.source)
    case 'audio':
      return textTokens(part.base64)
    case 'toolsAdded':
      return textTokens(part.names.join(' '))
  }
}

function documentTokens(source: Source): number {
  if (source.kind === 'text') return textTokens(source.text)
  return source.kind === 'bytes' ? (source.base64.length * 3) / 4 / PDF_BYTES_PER_TOKEN : IMAGE_TOKENS
}

function textTokens(text: string): number {
  return Buffer.byteLength(text) / BYTES_PER_TOKEN
}
