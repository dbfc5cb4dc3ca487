import { isObject } from '../../../kernel/json.ts'
import { readBoolean, readList, readName, readObject, readText, readTexts } from '../json/read-json.ts'
import type { Json } from '../json/read-json.ts'
import type { ClientTool, NeutralRequest, Tool, ToolRef } from '../neutral.ts'
import { refuse } from '../refusal.ts'
import { readToolChoice } from '../tools/tool-choice.ts'
import type { FindTool } from '../tools/tool-choice.ts'
import { toPrefix } from '../tools/tool-names.ts'

/**
 * Reads the tools of a responses request, and the choice among them: functions, custom tools, namespaces of both, and
 * tools that the vendor runs. Some agents send them in items `additional_tools` instead of the member `tools`.
 */
export function readResponsesTools(body: Json): Pick<NeutralRequest, 'tools' | 'choice' | 'parallel'> {
  const listed = readList(body.tools).flatMap((tool, at) => readEntry(readObject(tool), `tools.${at}`))
  const added = readList(body.input).flatMap((item, at) => {
    if (readObject(item).type !== 'additional_tools') return []
    return readList(readObject(item).tools).flatMap((tool, nth) =>
      readEntry(readObject(tool), `input.${at}.tools.${nth}`),
    )
  })
  const tools = [...listed, ...added]
  return {
    tools,
    choice: readToolChoice(body.tool_choice, body.tool_choice, tools, readChosen),
    parallel: readBoolean(body.parallel_tool_calls),
  }
}

/**
 * Whether a request has tools that other servers than the vendor's drop, refuse, or call by a name that the client does
 * not know.
 */
export function hasVendorTools({ tools, input }: Json): boolean {
  const added = readList(input).flatMap((item) => readList(readObject(item).tools))
  return [...readList(tools), ...added].some((tool) => VENDOR_TOOLS.has(readObject(tool).type))
}

const VENDOR_TOOLS: ReadonlySet<unknown> = new Set(['namespace', 'custom'])

function readEntry(entry: Json, path: string): Tool[] {
  if (entry.type !== 'namespace') return [readTool(entry, null, path)]
  const namespace = readName(entry.name)
  return readList(entry.tools).map((tool, at) => readTool(readObject(tool), namespace, `${path}.tools.${at}`))
}

/** Says what the namespaces among these tools are for, as other dialects cannot; null when none has a description. */
export function describeNamespaces(tools: unknown): string | null {
  const described = readList(tools).flatMap((tool) => {
    const { type, name, description } = readObject(tool)
    if (type !== 'namespace' || readText(description) === '') return []
    return [`The tools whose names begin with ${toPrefix(readText(name))}: ${readText(description)}`]
  })
  return described.length === 0 ? null : described.join('\n\n')
}

function readTool(tool: Json, namespace: string | null, path: string): Tool {
  const { type } = tool
  if (type !== 'function' && type !== 'custom') return readHosted(tool, namespace, path)
  const name = readName(tool.name) ?? refuse(`${path}.name`, 'A tool must have a name.')
  if (tool.async === true) refuse(`${path}.async`, 'This model waits for the result of each call: leave async out.')
  const isCustom = type === 'custom'
  return {
    kind: type,
    name,
    namespace,
    description: typeof tool.description === 'string' ? tool.description : null,
    schema: !isCustom && isObject(tool.parameters) ? tool.parameters : null,
    strict: readBoolean(tool.strict),
    deferred: false,
    grammar: isCustom ? readGrammar(readObject(tool.format)) : null,
    path,
  }
}

function readGrammar(format: Json): ClientTool['grammar'] {
  if (format.type !== 'grammar') return null
  return { syntax: readText(format.syntax), definition: readText(format.definition) }
}

/** Reads a hosted tool. It has no name, so its type is used as the name. */
function readHosted(tool: Json, namespace: string | null, path: string): Tool {
  const type = readName(tool.type) ?? 'without a type'
  const webSearch = namespace === null && type.startsWith('web_search')
  const domains = readTexts(readObject(tool.filters).allowed_domains)
  return {
    kind: 'hosted',
    type,
    name: type,
    webSearch,
    domains: domains.length > 0 ? domains : null,
    blockedDomains: [],
    isLive: tool.external_web_access !== false,
    location: isObject(tool.user_location) ? tool.user_location : null,
    essential: false,
    path,
  }
}

function readChosen(choice: Json, find: FindTool): ToolRef {
  const { type, namespace } = choice
  const name = readText(choice.name)
  if (type !== 'function' && type !== 'custom') {
    refuse(
      'tool_choice',
      `This model cannot be told to use ${readName(type) ?? 'a hosted tool'}: let tool_choice be auto.`,
    )
  }
  return (
    find({ kind: type, name }, namespace === undefined ? undefined : readName(namespace)) ??
    refuse('tool_choice.name', `There is no tool named ${name}: name one of tools.`)
  )
}
