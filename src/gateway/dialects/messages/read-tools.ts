import { isObject } from '../../../kernel/json.ts'
import { isGiven, readBoolean, readList, readName, readText, readTexts } from '../json/read-json.ts'
import type { Json } from '../json/read-json.ts'
import type { NeutralRequest, Tool } from '../neutral.ts'
import { refuse } from '../refusal.ts'
import { readMark } from './read-content.ts'
import { listTools } from './tool-changes.ts'

/** Reads the tools of a messages request after all changes of its system messages, and the choice among them. */
export function readMessagesTools(body: Json): Pick<NeutralRequest, 'tools' | 'choice' | 'parallel'> {
  const listed = listTools(body)
  const tools = listed.map(({ tool, path }) => readTool(tool, path, listed.length === 1))
  return { tools, ...readChoice(body.tool_choice, tools) }
}

/** Reads a tool. A tool without a type is a tool of the client. */
function readTool(tool: Json, path: string, isOnlyOne: boolean): Tool {
  const type = readName(tool.type) ?? 'custom'
  const name = readText(tool.name)
  const mark = readMark(tool)
  if (type !== 'custom') {
    const domains = readTexts(tool.allowed_domains)
    const webSearch = type.startsWith('web_search_')
    return {
      kind: 'hosted',
      type,
      name,
      webSearch,
      domains: domains.length > 0 ? domains : null,
      blockedDomains: readTexts(tool.blocked_domains),
      isLive: true,
      location: isObject(tool.user_location) ? tool.user_location : null,
      essential: isOnlyOne,
      path,
      ...mark,
    }
  }
  if (name === '') refuse(`${path}.name`, 'A tool must have a name.')
  return {
    kind: 'function',
    name,
    namespace: null,
    description: readDescription(tool),
    schema: tool.input_schema ?? null,
    strict: readBoolean(tool.strict),
    deferred: tool.defer_loading === true,
    grammar: null,
    path,
    ...mark,
  }
}

/** The description of a tool, with the examples of its input, for which other dialects have no member. */
function readDescription({ description, input_examples: given }: Json): string | null {
  const examples = readList(given).map((example) => `An example of its input: ${JSON.stringify(example)}`)
  const texts = typeof description === 'string' ? [description, ...examples] : examples
  return texts.length === 0 ? null : texts.join('\n')
}

function readChoice(value: unknown, tools: readonly Tool[]): Pick<NeutralRequest, 'choice' | 'parallel'> {
  if (!isGiven(value)) return { choice: null, parallel: null }
  if (!isObject(value)) refuse('tool_choice', 'It must be an object with a type.')
  const disabled = value.disable_parallel_tool_use
  const parallel = typeof disabled === 'boolean' ? !disabled : null
  const { type } = value
  if (type === 'auto' || type === 'none') return { choice: { mode: type, only: null }, parallel }
  if (tools.length === 0)
    refuse('tool_choice', 'No tool is there that could be called: send tools, or leave tool_choice out.')
  if (type === 'any') return { choice: { mode: 'required', only: null }, parallel }
  if (type !== 'tool') refuse('tool_choice.type', 'tool_choice must be auto, any, tool or none.')
  const name = readText(value.name)
  const chosen = tools.find((tool) => tool.name === name)
  if (!chosen) refuse('tool_choice.name', `There is no tool named ${name}: name one of tools.`)
  if (chosen.kind === 'hosted')
    refuse('tool_choice', `This model cannot be told to use the hosted tool ${name}: let tool_choice be auto.`)
  return { choice: { mode: 'required', only: [{ kind: 'function', name, namespace: null }] }, parallel }
}
