import { nearestEffort } from '../caps.ts'
import type { ModelCaps } from '../caps.ts'
import type { Json } from '../json/read-json.ts'
import type { NeutralRequest, OutputFormat, ReasoningOptions } from '../neutral.ts'
import { hasMarks, planAllMarks } from '../parts/cache-marks.ts'
import { refuse } from '../refusal.ts'
import { describeCustomTool, INPUT_SCHEMA } from '../tools/custom-tools.ts'
import { offerTools, describeWithheld } from '../tools/offer-tools.ts'
import type { OfferedTool, ToolOffer } from '../tools/offer-tools.ts'
import { toEnforcedSchema } from '../tools/strict-schemas.ts'
import { nameTools } from '../tools/tool-names.ts'
import type { ToolNames } from '../tools/tool-names.ts'
import { describeRefusedNames, toToolSchema } from '../tools/tool-schemas.ts'
import type { BackendCall, TranslationContext } from '../translated-dialect.ts'
import { MessagesReader } from './read-answer.ts'
import { toMark, writeMessagesHistory } from './write-history.ts'
import type { Message } from './write-history.ts'

/** The vendor's limit for the name of a tool. */
const MAX_NAME_CHARACTERS = 128

const JSON_ONLY = 'Answer with one JSON object and nothing else.'

/** Writes a request in the messages dialect. Throws a refusal for what the model does not support. */
export function writeMessagesRequest(asked: NeutralRequest, context: TranslationContext): BackendCall {
  const { caps } = context
  const { logprobs } = asked.sampling
  if (logprobs) refuse(logprobs.path, 'This model reports no log probabilities: leave the member out.')
  const names = nameTools(asked, MAX_NAME_CHARACTERS)
  const request = planAllMarks(asked, caps)
  const offer = offerTools(request, caps)
  const limit = Math.max(1, request.maxOutput ?? caps.maxOutput)
  // The vendor refuses thinking together with a required tool call.
  const keepsReasoning = offer.mode !== 'required'
  const notes = [describeWithheld(offer.withheld), request.format?.kind === 'json' ? JSON_ONLY : null]
  const { system, messages } = writeMessagesHistory(request, { context, names, notes, keepsReasoning })
  const mayThink = keepsReasoning && !(caps.thinking === 'budget' && refusesThinking(messages))
  const { thinking, effort } = mayThink ? writeThinking(request.reasoning, limit, caps) : NO_THINKING
  const isThinking = thinking !== null && thinking.type !== 'disabled'
  const stop = request.stop.filter((sequence) => sequence.trim() !== '')
  // The vendor refuses blank stop sequences.
  const blankStops = request.stop.filter((sequence) => sequence !== '' && sequence.trim() === '')
  const isAutomatic = caps.cacheMarks === 'automatic' && !hasMarks(asked)
  const body: Json = {
    model: context.backendModel,
    max_tokens: limit,
    ...(isAutomatic && { cache_control: { type: 'ephemeral' } }),
    ...(system.length > 0 && { system }),
    messages,
    ...(request.stream && { stream: true }),
    ...(stop.length > 0 && { stop_sequences: stop }),
    ...(!isThinking && writeSampling(request, caps)),
    ...writeTools(offer, names, caps),
    ...(thinking && { thinking }),
    ...writeOutput(request.format, effort),
    ...(request.hints.user !== null && caps.userHint && { metadata: { user_id: request.hints.user } }),
  }
  const beta = caps.blockBinding && isThinking ? { 'anthropic-beta': 'thinking-binding-controls-2026-08-01' } : {}
  return {
    body,
    headers: { 'anthropic-version': '2023-06-01', ...beta },
    withheld: offer.withheld,
    stops: blankStops,
    reader: new MessagesReader({ newId: context.newId, names }),
  }
}

/** The vendor accepts a temperature between 0 and 1, and either `temperature` or `top_p`. */
function writeSampling({ sampling: { temperature, topP, topK } }: NeutralRequest, caps: ModelCaps): Json {
  if (!caps.sampling) return {}
  return {
    ...(temperature !== null && { temperature: Math.min(1, Math.max(0, temperature)) }),
    ...(temperature === null && topP !== null && { top_p: topP }),
    ...(topK !== null && caps.topK && { top_k: topK }),
  }
}

type Thinking = { readonly thinking: Json | null; readonly effort: string | null }

const NO_THINKING: Thinking = { thinking: null, effort: null }

/** The vendor's minimum of tokens for thinking. */
const MIN_BUDGET = 1024
/** Tokens for thinking by effort, for a model that takes a budget. */
const BUDGETS: ReadonlyMap<string, number> = new Map([
  ['minimal', MIN_BUDGET],
  ['low', 2048],
  ['medium', 8192],
])
const LARGE_BUDGET = 24_576

function writeThinking({ effort, show }: ReasoningOptions, limit: number, caps: ModelCaps): Thinking {
  if (caps.thinking === 'none' || (effort === null && show === null)) return NO_THINKING
  const shown = effort === null ? null : nearestEffort(effort, caps.efforts)
  if (effort === 'none' || shown === 'none') return { thinking: { type: 'disabled' }, effort: null }
  const binding = caps.blockBinding ? { block_binding: { prefix_mismatch_behavior: 'drop_block' } } : {}
  const display = { display: show === false ? 'omitted' : 'summarized' }
  if (caps.thinking === 'adaptive') return { thinking: { type: 'adaptive', ...display, ...binding }, effort: shown }
  const budget = Math.min(BUDGETS.get(shown ?? 'medium') ?? LARGE_BUDGET, limit - 1)
  if (budget < MIN_BUDGET) return NO_THINKING
  return { thinking: { type: 'enabled', budget_tokens: budget, ...display, ...binding }, effort: null }
}

/**
 * Whether a model with a thinking budget refuses to think: it would continue a turn of the assistant, or the
 * conversation ends with tool results of a turn that has no reasoning.
 */
function refusesThinking(messages: readonly Message[]): boolean {
  if (messages.at(-1)?.role === 'assistant') return true
  const last = messages.findLast(({ role }) => role === 'assistant')
  if (messages.at(-1)?.content[0]?.type !== 'tool_result') return false
  return last?.content[0]?.type !== 'thinking' && last?.content[0]?.type !== 'redacted_thinking'
}

function writeOutput(format: OutputFormat | null, effort: string | null): { output_config?: Json } {
  const schema =
    format?.kind === 'schema' ? { format: { type: 'json_schema', schema: toEnforcedSchema(format.schema) } } : {}
  const output = { ...(effort !== null && { effort }), ...schema }
  return Object.keys(output).length === 0 ? {} : { output_config: output }
}

function writeTools(offer: ToolOffer, names: ToolNames, caps: ModelCaps): Json {
  const { tools, search, mode, allowed, parallel } = offer
  const written = tools.map((tool) => writeTool(tool, names.toName(tool), caps))
  // The vendor refuses two tools of one name, so a client's own search takes the place of the vendor's.
  if (search && !written.some(({ name }) => name === 'web_search')) {
    const domains = search.domains === null ? {} : { allowed_domains: search.domains }
    const location = search.location === null ? {} : { user_location: { type: 'approximate', ...search.location } }
    written.push({ type: 'web_search_20250305', name: 'web_search', ...domains, ...location })
  }
  if (written.length === 0) return {}
  const [named] = allowed ?? []
  return { tools: written, ...writeChoice(named ? names.toName(named) : null, mode, parallel) }
}

const CHOICES = { auto: 'auto', required: 'any', none: 'none' } as const

function writeChoice(name: string | null, mode: ToolOffer['mode'], parallel: boolean | null): Json {
  if (mode === 'none') return { tool_choice: { type: 'none' } }
  if (mode === null && parallel !== false) return {}
  const disabled = parallel === null ? {} : { disable_parallel_tool_use: !parallel }
  if (name !== null) return { tool_choice: { type: 'tool', name, ...disabled } }
  return { tool_choice: { type: CHOICES[mode ?? 'auto'], ...disabled } }
}

function writeTool(tool: OfferedTool, name: string, caps: ModelCaps): Json {
  const isCustom = tool.kind === 'custom'
  const description = isCustom ? describeCustomTool(tool) : tool.description
  const schema: Json = isCustom ? INPUT_SCHEMA : describeRefusedNames(toToolSchema(tool.schema, caps))
  // The vendor refuses `strict` for an object that allows any property.
  const isStrict = tool.strict === true && caps.strictTools && schema.additionalProperties !== true
  return {
    name,
    ...(description !== null && { description }),
    // The vendor refuses the same keywords in the schema of a strict tool as in that of an output.
    input_schema: isStrict ? toEnforcedSchema(schema) : schema,
    ...(isStrict && { strict: true }),
    ...toMark(tool.mark),
  }
}
