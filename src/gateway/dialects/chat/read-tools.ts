import { isObject } from '../../../kernel/json.ts'
import { readBoolean, readList, readName, readObject, readText } from '../json/read-json.ts'
import type { Json } from '../json/read-json.ts'
import type { ClientTool, NeutralRequest, Tool, ToolRef } from '../neutral.ts'
import { refuse } from '../refusal.ts'
import { readToolChoice } from '../tools/tool-choice.ts'
import type { FindTool } from '../tools/tool-choice.ts'

/** Reads the tools of a chat request, and the choice among them. */
export function readChatTools(body: Json): Pick<NeutralRequest, 'tools' | 'choice' | 'parallel'> {
  const tools = readList(body.tools).map((tool, at) => readTool(readObject(tool), `tools.${at}`))
  const { allowed_tools: allowed } = readObject(body.tool_choice)
  return {
    tools,
    choice: readToolChoice(body.tool_choice, allowed, tools, readChosen),
    parallel: readBoolean(body.parallel_tool_calls),
  }
}

function readTool(tool: Json, path: string): Tool {
  // Some clients leave the type of a function out.
  const type = tool.type ?? 'function'
  if (type !== 'function' && type !== 'custom') {
    refuse(
      path,
      `This model has no hosted tool ${readName(type) ?? 'without a type'}: send a function or a custom tool.`,
    )
  }
  const own = readObject(tool[type])
  const name = readName(own.name) ?? refuse(`${path}.${type}.name`, 'A tool must have a name.')
  const isCustom = type === 'custom'
  return {
    kind: type,
    name,
    namespace: null,
    description: typeof own.description === 'string' ? own.description : null,
    schema: !isCustom && isObject(own.parameters) ? own.parameters : null,
    strict: readBoolean(own.strict),
    deferred: false,
    grammar: isCustom ? readGrammar(readObject(own.format)) : null,
    path,
  }
}

function readGrammar(format: Json): ClientTool['grammar'] {
  if (format.type !== 'grammar') return null
  const grammar = readObject(format.grammar)
  return { syntax: readText(grammar.syntax), definition: readText(grammar.definition) }
}

function readChosen(choice: Json, find: FindTool): ToolRef {
  const { type } = choice
  if (type !== 'function' && type !== 'custom') {
    refuse('tool_choice.type', 'tool_choice must be auto, none, required, or name a function or a custom tool.')
  }
  const name = readText(readObject(choice[type]).name)
  return (
    find({ kind: type, name }) ??
    refuse(`tool_choice.${type}.name`, `There is no tool named ${name}: name one of tools.`)
  )
}
