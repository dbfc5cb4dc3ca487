import { nearestEffort } from '../caps.ts'
import type { ModelCaps } from '../caps.ts'
import type { Json } from '../json/read-json.ts'
import type { NeutralRequest, OutputFormat, ReasoningOptions, ToolRef } from '../neutral.ts'
import { planPartMarks } from '../parts/cache-marks.ts'
import { shortenKey } from '../shorten-key.ts'
import { describeCustomTool, INPUT_SCHEMA } from '../tools/custom-tools.ts'
import { offerTools, describeWithheld } from '../tools/offer-tools.ts'
import type { OfferedTool, ToolOffer } from '../tools/offer-tools.ts'
import { isStrictSchema, isStrictTool } from '../tools/strict-schemas.ts'
import { nameTools } from '../tools/tool-names.ts'
import type { ToolNames } from '../tools/tool-names.ts'
import { toToolSchema } from '../tools/tool-schemas.ts'
import type { BackendCall, TranslationContext } from '../translated-dialect.ts'
import { makeChatReader } from './read-answer.ts'
import type { ChatRequest, ChatTool } from './wire.ts'
import { writeChatHistory } from './write-history.ts'

/** The vendors' limit for the name of a tool. */
const MAX_NAME_CHARACTERS = 64

/** The vendors' limit for stop sequences. */
const MAX_STOPS = 4

/** Writes a request in the chat dialect. Throws a refusal for what the model does not support. */
export function writeChatRequest(asked: NeutralRequest, context: TranslationContext): BackendCall {
  const { caps } = context
  const names = nameTools(asked, MAX_NAME_CHARACTERS)
  // This dialect has no tool for a search. The caps of a model may be those of its backends of other dialects.
  const offer = offerTools(asked, { ...caps, hostedSearch: false }, { allowsSubsets: true })
  const request = planPartMarks(asked, caps)
  const { maxOutput, sampling, hints, stream, format } = request
  const notes = [describeWithheld(offer.withheld), format && describeFormat(format, caps)].filter((one) => one !== null)
  // Models that refuse `temperature` refuse `stop` too. This gateway applies the sequences that are not sent.
  const stop = caps.sampling ? request.stop.slice(0, MAX_STOPS) : []
  const body: ChatRequest = {
    model: context.backendModel,
    messages: writeChatHistory(request, { context, names, note: notes.length > 0 ? notes.join('\n\n') : null }),
    ...(stream && { stream: true, ...(caps.streamUsage && { stream_options: { include_usage: true } }) }),
    ...(maxOutput !== null && { [caps.limitName]: maxOutput }),
    ...(sampling.temperature !== null && caps.sampling && { temperature: sampling.temperature }),
    ...(sampling.topP !== null && caps.sampling && { top_p: sampling.topP }),
    ...(sampling.topK !== null && caps.topK && { top_k: sampling.topK }),
    ...(sampling.logprobs && writeLogprobs(sampling.logprobs.top)),
    ...(stop.length > 0 && { stop }),
    ...writeTools(offer, names, caps),
    ...(format && { response_format: writeFormat(format, caps) }),
    ...writeEffort(request.reasoning, caps),
    ...(hints.user !== null && caps.userHint && { user: shortenKey(hints.user) }),
    ...(caps.vendorHints && hints.cacheKey !== null && { prompt_cache_key: shortenKey(hints.cacheKey) }),
    ...(caps.vendorHints && hints.verbosity !== null && { verbosity: hints.verbosity }),
  }
  return {
    body,
    headers: {},
    stops: request.stop.slice(stop.length).filter((sequence) => sequence !== ''),
    withheld: offer.withheld,
    reader: makeChatReader({ newId: context.newId, names }),
  }
}

function writeLogprobs(top: number): Pick<ChatRequest, 'logprobs' | 'top_logprobs'> {
  return { logprobs: true, ...(top > 0 && { top_logprobs: top }) }
}

function writeEffort({ effort, effortIsHint }: ReasoningOptions, caps: ModelCaps): { reasoning_effort?: string } {
  if (effort === null || (effortIsHint && !caps.effortHints)) return {}
  const accepted = nearestEffort(effort, caps.efforts)
  return accepted === null ? {} : { reasoning_effort: accepted }
}

/** The schema of the answer as text for the system prompt; null where there is none, or the model accepts schemas. */
function describeFormat(format: OutputFormat, { formatSchemas }: ModelCaps): string | null {
  if (format.kind === 'json' || formatSchemas) return null
  return `Answer with JSON that matches this schema, and with nothing else: ${JSON.stringify(format.schema)}`
}

function writeFormat(format: OutputFormat, caps: ModelCaps): Json {
  if (format.kind === 'json' || !caps.formatSchemas) return { type: 'json_object' }
  const strict = format.strict ?? (caps.strictTools ? isStrictSchema(format.schema) : null)
  const json_schema = {
    name: format.name ?? 'output',
    ...(format.description !== null && { description: format.description }),
    schema: format.schema,
    ...(strict !== null && { strict }),
  }
  return { type: 'json_schema', json_schema }
}

type ToolMembers = Pick<ChatRequest, 'tools' | 'tool_choice' | 'parallel_tool_calls'>

/**
 * Writes the tools. Without tools it writes no member, because servers refuse an empty list and a choice without tools.
 */
function writeTools(offer: ToolOffer, names: ToolNames, caps: ModelCaps): ToolMembers {
  const { tools, mode, allowed, parallel } = offer
  if (tools.length === 0) return {}
  const choice = allowed ? writeAllowed(allowed, mode, (tool) => nameChoice(tool.kind, names.toName(tool), caps)) : mode
  return {
    tools: tools.map((tool) => writeTool(tool, names.toName(tool), caps)),
    ...(choice !== null && { tool_choice: choice }),
    ...(parallel !== null && mode !== 'none' && { parallel_tool_calls: parallel }),
  }
}

/** Writes the choice of one tool, or of some of the tools. */
function writeAllowed(allowed: readonly ToolRef[], mode: ToolOffer['mode'], write: (tool: ToolRef) => Json): Json {
  const [first, ...others] = allowed.map(write)
  if (first && others.length === 0 && mode === 'required') return first
  return { type: 'allowed_tools', allowed_tools: { mode, tools: [first, ...others] } }
}

function nameChoice(kind: 'function' | 'custom', name: string, caps: ModelCaps): Json {
  return kind === 'custom' && caps.customTools
    ? { type: 'custom', custom: { name } }
    : { type: 'function', function: { name } }
}

function writeTool(tool: OfferedTool, name: string, caps: ModelCaps): ChatTool {
  const { kind, description, grammar, schema } = tool
  if (kind === 'custom' && caps.customTools) {
    const format = grammar && { type: 'grammar', grammar }
    return { type: 'custom', custom: { name, ...(description !== null && { description }), ...(format && { format }) } }
  }
  if (kind === 'custom') {
    const parameters = toToolSchema(INPUT_SCHEMA, caps)
    return { type: 'function', function: { name, description: describeCustomTool(tool), parameters } }
  }
  const parameters = toToolSchema(schema, caps)
  return {
    type: 'function',
    function: {
      name,
      ...(description !== null && { description }),
      parameters,
      // The default of this dialect is not strict.
      ...(isStrictTool(tool, parameters) && { strict: true }),
    },
  }
}
