import { nearestEffort } from '../caps.ts'
import type { ModelCaps } from '../caps.ts'
import type { Json } from '../json/read-json.ts'
import type { NeutralRequest, OutputFormat, ToolRef } from '../neutral.ts'
import { planPartMarks } from '../parts/cache-marks.ts'
import { refuse } from '../refusal.ts'
import { shortenKey } from '../shorten-key.ts'
import { describeCustomTool, INPUT_SCHEMA } from '../tools/custom-tools.ts'
import { offerTools, describeWithheld } from '../tools/offer-tools.ts'
import type { OfferedTool, ToolOffer } from '../tools/offer-tools.ts'
import { isStrictSchema, isStrictTool } from '../tools/strict-schemas.ts'
import { nameTools } from '../tools/tool-names.ts'
import type { ToolNames } from '../tools/tool-names.ts'
import { toToolSchema } from '../tools/tool-schemas.ts'
import type { BackendCall, TranslationContext } from '../translated-dialect.ts'
import { ResponsesReader } from './read-answer.ts'
import { writeResponsesHistory } from './write-history.ts'

/** The vendor's limit for the name of a tool. */
const MAX_NAME_CHARACTERS = 64

/** The vendor's minimum for `max_output_tokens`. Agents send less, for example 1 to test a connection. */
const MIN_OUTPUT_TOKENS = 16

/** Writes a request in the responses dialect, with `store: false`. Throws a refusal for what the model lacks. */
export function writeResponsesRequest(asked: NeutralRequest, context: TranslationContext): BackendCall {
  const { caps } = context
  const names = nameTools(asked, MAX_NAME_CHARACTERS)
  const offer = offerTools(asked, caps, { allowsSubsets: true })
  const request = planPartMarks(asked, caps)
  const { maxOutput, sampling, hints } = request
  refuseStopWithLogprobs(request)
  const include = [
    ...(context.seals !== null && caps.reasoningReplay !== 'refused' ? ['reasoning.encrypted_content'] : []),
    ...(offer.search ? ['web_search_call.action.sources'] : []),
    ...(sampling.logprobs ? ['message.output_text.logprobs'] : []),
  ]
  const text = writeText(request, caps)
  const body: Json = {
    model: context.backendModel,
    store: false,
    ...(request.stream && { stream: true }),
    ...writeResponsesHistory(request, { context, names, note: describeWithheld(offer.withheld) }),
    ...(maxOutput !== null && { max_output_tokens: Math.max(MIN_OUTPUT_TOKENS, maxOutput) }),
    ...(sampling.temperature !== null && caps.sampling && { temperature: sampling.temperature }),
    ...(sampling.topP !== null && caps.sampling && { top_p: sampling.topP }),
    ...writeTools(offer, names, caps),
    ...writeReasoning(request, caps),
    ...(include.length > 0 && { include }),
    ...(sampling.logprobs && { top_logprobs: sampling.logprobs.top }),
    ...(Object.keys(text).length > 0 && { text }),
    ...(hints.user !== null && caps.userHint && { safety_identifier: shortenKey(hints.user) }),
    ...(caps.vendorHints && hints.cacheKey !== null && { prompt_cache_key: shortenKey(hints.cacheKey) }),
  }
  return {
    body,
    headers: {},
    stops: request.stop.filter((stop) => stop !== ''),
    withheld: offer.withheld,
    reader: new ResponsesReader({ newId: context.newId, names }),
  }
}

/** This gateway cuts the text at a stop sequence, and cannot tell which tokens the rest of the text has. */
function refuseStopWithLogprobs({ stop, sampling: { logprobs } }: NeutralRequest): void {
  if (stop.length > 0 && logprobs) {
    refuse(
      logprobs.path,
      'This model reports no log probabilities together with stop sequences: leave one of them out.',
    )
  }
}

function writeReasoning({ reasoning }: NeutralRequest, caps: ModelCaps): { reasoning?: Json } {
  const { effort, effortIsHint, show } = reasoning
  const isKnown = effort !== null && (!effortIsHint || caps.effortHints)
  if (caps.efforts.length === 0 || (!isKnown && show !== true)) return {}
  const wanted = isKnown ? { effort: nearestEffort(effort, caps.efforts) } : {}
  const isShown = show !== false && effort !== 'none' && caps.reasoningSummaries
  return { reasoning: { ...wanted, ...(isShown && { summary: 'auto' }) } }
}

function writeText({ format, hints }: NeutralRequest, caps: ModelCaps): Json {
  return {
    ...(format && { format: writeFormat(format) }),
    ...(caps.vendorHints && hints.verbosity !== null && { verbosity: hints.verbosity }),
  }
}

function writeFormat(format: OutputFormat): Json {
  if (format.kind === 'json') return { type: 'json_object' }
  const { name, description, schema, strict } = format
  return {
    type: 'json_schema',
    name: name ?? 'output',
    ...(description !== null && { description }),
    schema,
    strict: strict ?? isStrictSchema(schema),
  }
}

const NO_BLOCKED_DOMAINS = 'The web search of this model cannot leave domains out: send allowed_domains instead.'

function writeTools(offer: ToolOffer, names: ToolNames, caps: ModelCaps): Json {
  const { tools, search, mode, allowed, parallel } = offer
  const written = tools.map((tool) => writeTool(tool, names.toName(tool), caps))
  if (search) {
    if (search.blockedDomains.length > 0) refuse(search.path, NO_BLOCKED_DOMAINS)
    const filters = search.domains === null ? {} : { filters: { allowed_domains: search.domains } }
    const location = search.location === null ? {} : { user_location: search.location }
    written.push({ type: 'web_search', ...filters, ...location })
  }
  if (written.length === 0) return {}
  const choose = (tool: ToolRef): Json => ({
    type: tool.kind === 'custom' && caps.customTools ? 'custom' : 'function',
    name: names.toName(tool),
  })
  const choice = allowed ? writeAllowed(allowed.map(choose), mode) : mode
  return {
    tools: written,
    ...(choice !== null && { tool_choice: choice }),
    ...(parallel !== null && mode !== 'none' && { parallel_tool_calls: parallel }),
  }
}

/** Writes the choice of one tool, or of some of the tools. */
function writeAllowed([first, ...others]: readonly Json[], mode: ToolOffer['mode']): Json {
  if (first && others.length === 0 && mode === 'required') return first
  return { type: 'allowed_tools', mode, tools: [first, ...others] }
}

function writeTool(tool: OfferedTool, name: string, caps: ModelCaps): Json {
  const { kind, description, grammar } = tool
  if (kind === 'custom' && caps.customTools) {
    const format = grammar && { type: 'grammar', ...grammar }
    return { type: 'custom', name, ...(description !== null && { description }), ...(format && { format }) }
  }
  const shown = kind === 'custom' ? describeCustomTool(tool) : description
  const parameters = kind === 'custom' ? INPUT_SCHEMA : toToolSchema(tool.schema, caps)
  return {
    type: 'function',
    name,
    ...(shown !== null && { description: shown }),
    parameters,
    // Always written, because this dialect's default is strict, unlike that of the others.
    strict: isStrictTool(tool, parameters),
  }
}
