import { isObject } from '../../../kernel/json.ts'
import { readArguments, readList, readName, readObject, readText } from '../json/read-json.ts'
import type { Json } from '../json/read-json.ts'
import type { Part, PartContent, Turn } from '../neutral.ts'
import { readContentList, requireTexts } from '../parts/content-list.ts'
import { readUrl } from '../parts/data-url.ts'
import { refuse, refuseContent } from '../refusal.ts'
import type { InsteadOf } from '../refusal.ts'
import { isSealed, sealedLength } from '../seals.ts'
import type { TranslationContext } from '../translated-dialect.ts'

/** Reads the messages of a chat request as turns, one for each message. */
export function readChatHistory({ messages }: Json, context: TranslationContext): Turn[] {
  if (!Array.isArray(messages)) refuse('messages', 'It must be a list.')
  return readList(messages).map((message, at) => readMessage(readObject(message), `messages.${at}`, context))
}

function readMessage(message: Json, path: string, context: TranslationContext): Turn {
  switch (message.role) {
    case 'system':
    case 'developer':
      return { role: 'system', path, parts: requireTexts('system', readNamed(message, path)) }
    case 'user':
      return { role: 'user', path, parts: readNamed(message, path) }
    case 'assistant':
      return { role: 'assistant', path, parts: readAssistant(message, path, context) }
    case 'tool':
      return { role: 'user', path, parts: [readResult(message, path)] }
    default:
      return refuse(`${path}.role`, 'It must be system, developer, user, assistant or tool.')
  }
}

/**
 * Reads the content of a message behind the name of its participant, for which other dialects have no member. Names of
 * the assistant are left out, because the model would begin its own answers with one.
 */
function readNamed({ name, content }: Json, path: string): Part[] {
  const parts = readContent(content, `${path}.content`)
  const named = readName(name)
  return named === null ? parts : [{ type: 'text', text: `${named}:`, path: `${path}.name` }, ...parts]
}

function readAssistant(message: Json, path: string, context: TranslationContext): Part[] {
  refuseUnsupported(message, path)
  const calls = readList(message.tool_calls).map(readObject)
  const refusal = readText(message.refusal)
  return [
    ...readReasoning(message, calls, context).map((part) => ({ ...part, path })),
    ...requireTexts('assistant', readContentList(message.content ?? '', `${path}.content`, readOwnPart)),
    ...(refusal === '' ? [] : [{ type: 'refusal', text: refusal, path } as const]),
    ...calls.map((call, at) => readCall(call, `${path}.tool_calls.${at}`)),
  ]
}

/** Reads a part of an assistant message. The text of reasoning is not read: without a seal, it is sent to no vendor. */
function readOwnPart(part: Json, path: string): PartContent {
  return THOUGHTS.has(part.type) ? { type: 'reasoning', text: '', seal: null } : readPart(part, path)
}

/** Parts with reasoning: Mistral writes the first, and sessions that began with Claude may have the second. */
const THOUGHTS: ReadonlySet<unknown> = new Set(['thinking', 'redacted_thinking'])

function refuseUnsupported({ function_call: called, audio }: Json, path: string): void {
  if (isObject(called)) refuse(`${path}.function_call`, 'Calls are not read from this member: send them as tool_calls.')
  if (isObject(audio)) refuse(`${path}.audio`, 'This service does not store audio: send its transcript as content.')
}

/**
 * Reads the reasoning of a turn, which is one text in this dialect. Each seal has the length of its part of the text.
 * Some clients send back only the seals in the first tool call.
 */
function readReasoning(message: Json, calls: readonly Json[], { seals }: TranslationContext): PartContent[] {
  const text = readText(message.reasoning_content) || readText(message.reasoning)
  const found = [...sealsOfDetails(message), ...sealsOfCall(calls[0] ?? {})]
  const sealed = [...new Set(found)]
  if (sealed.length === 0 || !seals) return text === '' ? [] : [{ type: 'reasoning', text, seal: null }]
  let from = 0
  return sealed.map((one) => {
    const shown = text.slice(from, from + sealedLength(one))
    from += shown.length
    return { type: 'reasoning', text: shown, seal: seals.read(one, shown) }
  })
}

function sealsOfDetails(message: Json): string[] {
  return readList(message.reasoning_details)
    .map((detail) => readObject(detail).data)
    .filter(isSealed)
}

function sealsOfCall(call: Json): string[] {
  const google = readObject(readObject(call.extra_content).google)
  return readText(google.thought_signature).split(' ').filter(isSealed)
}

function readCall(call: Json, path: string): Part {
  const id = readText(call.id)
  if (call.type === 'custom') {
    const { name, input } = readObject(call.custom)
    return {
      type: 'call',
      id,
      tool: { kind: 'custom', name: readText(name), namespace: null },
      input: readText(input),
      path,
    }
  }
  const { name, arguments: args } = readObject(call.function)
  const tool = { kind: 'function', name: readText(name), namespace: null } as const
  return { type: 'call', id, tool, input: readArguments(args) || '{}', path }
}

function readResult(message: Json, path: string): Part {
  const parts = readContent(message.content ?? '', `${path}.content`)
  const callPath = `${path}.tool_call_id`
  return { type: 'result', callId: readText(message.tool_call_id), parts, failed: false, callPath, path }
}

function readContent(content: unknown, path: string): Part[] {
  return readContentList(content, path, readPart)
}

const INSTEAD_OF: InsteadOf = new Map([
  ['input_text', 'text'],
  ['output_text', 'text'],
  ['input_image', 'image_url'],
  ['image', 'image_url'],
  ['input_file', 'file'],
  ['document', 'file'],
  ['tool_use', 'tool_calls of the message'],
  ['tool_result', 'a message of the role tool'],
])

const NO_IMAGE = 'Send the image as an object with a url, which may be a data URL.'

function readPart(part: Json, path: string): PartContent {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: readText(part.text) }
    case 'refusal':
      return { type: 'refusal', text: readText(part.refusal) }
    case 'image_url': {
      const image = readObject(part.image_url)
      // Mistral's clients write the URL itself.
      const url = readName(part.image_url) ?? readName(image.url) ?? refuse(`${path}.image_url`, NO_IMAGE)
      return { type: 'image', source: readUrl(url), detail: readName(image.detail) }
    }
    case 'file': {
      const { file_data: data, filename } = readObject(part.file)
      const url = readName(data) ?? refuse(path, 'This service does not store files: send the file as file_data.')
      return toDocument(url, filename)
    }
    // Mistral's.
    case 'document_url': {
      const url = readName(part.document_url) ?? refuse(`${path}.document_url`, 'It must be the URL of a document.')
      return toDocument(url, part.document_name)
    }
    case 'input_audio': {
      const { data, format } = readObject(part.input_audio)
      return { type: 'audio', base64: readText(data), format: readText(format) }
    }
    default:
      return refuseContent(part.type, path, INSTEAD_OF)
  }
}

function toDocument(url: string, name: unknown): PartContent {
  const source = readUrl(url, 'application/pdf')
  return { type: 'document', source, name: readName(name), title: null, context: null }
}
