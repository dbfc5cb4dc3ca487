import type { ChatRequest, ChatTool, ChatToolChoice } from '../chat/chunk.ts'
import { isObject, type Json, parseObject, readList, readName, readObject, readText } from '../json/read-json.ts'
import { refuse } from '../refusal.ts'

/** A tool of the responses style behind the plain function that a chat engine is shown. */
export type ResponsesTool = {
  readonly kind: 'function' | 'custom'
  readonly name: string
  readonly namespace: string | null
}

/** By the name of the function that the engine sees. */
export type ResponsesTools = ReadonlyMap<string, ResponsesTool>

export type ReadTools = {
  readonly tools: ResponsesTools
  readonly request: Pick<ChatRequest, 'tools' | 'tool_choice' | 'parallel_tool_calls'>
  /** The tools in force, as the caller described them: what the answer repeats. */
  readonly described: readonly Json[]
  /** Types of tools that were offered to the model by the caller and are not available here. */
  readonly withheld: readonly string[]
}

/**
 * The tools of a responses request as functions.
 * - `custom` tools take free text: they become a function of one string, `input`; a grammar is told in the description.
 * - `namespace` tools become functions named `namespace__tool`.
 * - Web search is withheld, not refused. Agents offer it with every request, a model may choose not to use it, and an
 *   engine without a network cannot. The model is told (`withheld` ends up in the instructions), the answer lists only the
 *   tools in force, and a request that demands a search is refused.
 * - Every other hosted tool is refused by name: the request relies on what it would do.
 */
export function readResponsesTools(body: Json): ReadTools {
  const found = collect(body)
  const allowed = allowedNames(body.tool_choice, found.named)
  const offered = found.named.filter(({ tool }) => allowed?.has(tool.function.name) ?? true)
  const { choice, only } = readChoice(body.tool_choice, offered)
  const named = only === null ? offered : offered.filter(({ tool }) => tool.function.name === only)
  return {
    tools: new Map(found.named.map(({ tool, source }) => [tool.function.name, source])),
    described: found.described,
    withheld: found.withheld,
    request:
      named.length === 0
        ? {}
        : {
            tools: named.map(({ tool }) => tool),
            ...(choice !== null && { tool_choice: choice }),
            ...(typeof body.parallel_tool_calls === 'boolean' &&
              choice !== 'none' && { parallel_tool_calls: body.parallel_tool_calls }),
          },
  }
}

/** The function name for a tool that the history or a choice names; the same as in the request's tools where it is there. */
export function functionName(tools: ResponsesTools, name: string, namespace: string | null): string {
  for (const [known, tool] of tools) if (tool.name === name && tool.namespace === namespace) return known
  return flatName(name, namespace)
}

/** Free text as the arguments of the function that stands for a custom tool. */
export function toArguments(input: string): string {
  return JSON.stringify({ input })
}

/** The free text back. A model that wrote no such arguments wrote the text itself. */
export function toInput(args: string): string {
  const input = parseObject(args)?.input
  if (typeof input === 'string') return input
  return args === '{}' ? '' : args
}

type NamedTool = { readonly tool: ChatTool; readonly source: ResponsesTool }
type Found = { readonly named: NamedTool[]; readonly described: Json[]; readonly withheld: string[] }

function collect(body: Json): Found {
  const found: Found = { named: [], described: [], withheld: [] }
  readList(body.tools).forEach((tool, at) => {
    const param = `tools.${String(at)}`
    const read = readObject(tool)
    if (WEB_SEARCH.test(readText(read.type))) return void found.withheld.push(readText(read.type))
    found.described.push(read)
    if (read.type === 'namespace') addNamespace(found.named, read, param)
    else addTool(found.named, read, null, param)
  })
  return found
}

const WEB_SEARCH = /^web_search/

function addNamespace(named: NamedTool[], namespace: Json, param: string): void {
  readList(namespace.tools).forEach((tool, at) => {
    addTool(named, readObject(tool), readName(namespace.name), `${param}.tools.${String(at)}`)
  })
}

function addTool(named: NamedTool[], tool: Json, namespace: string | null, param: string): void {
  const { type } = tool
  // Hosted tools have no name of their own; their type is it.
  if (type !== 'function' && type !== 'custom') {
    refuse(param, `The hosted tool ${readName(type) ?? 'without a type'} does not exist on a local engine.`)
  }
  const name = readName(tool.name) ?? refuse(`${param}.name`, 'A tool must have a name.')
  const unique = uniqueName(flatName(name, namespace), new Set(named.map((other) => other.tool.function.name)))
  named.push({
    tool: type === 'custom' ? toTextFunction(tool, unique) : toFunction(tool, unique),
    source: { kind: type, name, namespace },
  })
}

function toFunction(tool: Json, name: string): ChatTool {
  return {
    type: 'function',
    function: {
      name,
      ...(typeof tool.description === 'string' && { description: tool.description }),
      parameters: isObject(tool.parameters) ? tool.parameters : { type: 'object', properties: {} },
      ...(tool.strict === true && { strict: true }),
    },
  }
}

function toTextFunction(tool: Json, name: string): ChatTool {
  const format = readObject(tool.format)
  const grammar =
    format.type === 'grammar'
      ? `The input follows this ${readText(format.syntax)} grammar:\n${readText(format.definition)}`
      : ''
  const input = { type: 'string', description: 'The whole input of the tool, as plain text.' }
  return {
    type: 'function',
    function: {
      name,
      description: [readText(tool.description), grammar].filter((text) => text !== '').join('\n\n'),
      parameters: { type: 'object', properties: { input }, required: ['input'], additionalProperties: false },
    },
  }
}

/** Engines and vendors take names of up to 64 of these characters. */
const MAX_NAME = 64

function flatName(name: string, namespace: string | null): string {
  if (namespace === null) return name
  const joined = `${namespace}${namespace.endsWith('__') ? '' : '__'}${name}`
  return joined.replaceAll(/[^a-zA-Z0-9_-]/g, '_').slice(0, MAX_NAME)
}

function uniqueName(name: string, taken: ReadonlySet<string>): string {
  for (let nth = 1, candidate = name; ; nth++, candidate = `${name.slice(0, MAX_NAME - 4)}_${String(nth)}`) {
    if (!taken.has(candidate)) return candidate
  }
}

// ---- tool_choice

function allowedNames(choice: unknown, named: readonly NamedTool[]): ReadonlySet<string> | null {
  if (!isObject(choice) || choice.type !== 'allowed_tools') return null
  return new Set(readList(choice.tools).map((tool) => chosenName(readObject(tool), named)))
}

/** `only`: the tool that is to be called. */
type Choice = { readonly choice: ChatToolChoice | null; readonly only: string | null }

function readChoice(choice: unknown, named: readonly NamedTool[]): Choice {
  if (choice === undefined || choice === null) return { choice: null, only: null }
  const mode = isObject(choice) && choice.type === 'allowed_tools' ? choice.mode : choice
  if (mode === 'auto' || mode === 'none') return { choice: mode, only: null }
  if (mode === 'required') {
    if (named.length === 0) refuse('tool_choice', 'A tool cannot be demanded where there are none.')
    return { choice: mode, only: null }
  }
  return { choice: 'required', only: chosenName(readObject(mode), named) }
}

function chosenName(choice: Json, named: readonly NamedTool[]): string {
  if (choice.type !== 'function' && choice.type !== 'custom') {
    refuse(
      'tool_choice',
      `The hosted tool ${readName(choice.type) ?? 'without a type'} does not exist on a local engine.`,
    )
  }
  const chosen = named.find(
    ({ source }) =>
      source.kind === choice.type &&
      source.name === choice.name &&
      (choice.namespace === undefined || source.namespace === choice.namespace),
  )
  return chosen?.tool.function.name ?? refuse('tool_choice.name', `There is no tool named ${readText(choice.name)}.`)
}
