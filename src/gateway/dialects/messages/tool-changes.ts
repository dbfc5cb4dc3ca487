/**
 * Tools that system messages add and withdraw in the middle of a conversation (Anthropic API, "Mid-conversation system
 * messages and tool changes"). Other dialects have one list of tools for the whole request.
 */
import { readList, readObject, readText } from '../json/read-json.ts'
import type { Json } from '../json/read-json.ts'
import { refuse } from '../refusal.ts'
import { announceTool } from '../tools/tool-names.ts'

/** A block of a system message that changes a tool. `definition`: the tool is new, and this is its definition. */
export type ToolChange = {
  readonly kind: 'added' | 'removed'
  readonly name: string
  readonly definition: Json | null
}

/** Reads a block that changes a tool; null for any other block. */
export function readToolChange({ type, tool }: Json, path: string): ToolChange | null {
  if (type !== 'tool_addition' && type !== 'tool_removal') return null
  const kind = type === 'tool_addition' ? 'added' : 'removed'
  const { type: form, name, definition } = readObject(tool)
  if (form === 'tool_reference') return { kind, name: readText(name), definition: null }
  if (kind === 'removed' || form !== 'tool_definition') {
    refuse(`${path}.tool`, 'This model cannot call MCP servers: name a tool, or send its definition.')
  }
  return { kind, name: readText(readObject(definition).name), definition: readObject(definition) }
}

/** Says a change to a model that gets only the list of the tools. */
export function describeToolChange({ kind, name }: ToolChange): string {
  return kind === 'added' ? announceTool(name) : `The tool ${name} is no longer available.`
}

/** A tool of a request, and the path of its definition. */
export type ListedTool = { readonly tool: Json; readonly path: string }

/** The tools of a request after all changes that its system messages make to them. */
export function listTools(body: Json): readonly ListedTool[] {
  const listed = readList(body.tools).map((tool, at) => ({ tool: readObject(tool), path: `tools.${at}` }))
  const changes = findChanges(body.messages)
  if (changes.length === 0) return listed
  const known = new Map(listed.map((one) => [readText(one.tool.name), one]))
  const offered = new Map(known)
  for (const { change, path } of changes) {
    const { kind, name, definition } = change
    const found = definition ? { tool: definition, path: `${path}.tool.definition` } : known.get(name)
    if (!found) refuse(`${path}.tool`, `There is no tool named ${name}: send its definition.`)
    known.set(name, found)
    if (kind === 'added') offered.set(name, { ...found, tool: { ...found.tool, defer_loading: false } })
    else offered.delete(name)
  }
  return [...offered.values()]
}

function findChanges(messages: unknown): readonly { readonly change: ToolChange; readonly path: string }[] {
  return readList(messages).flatMap((message, at) => {
    const { role, content } = readObject(message)
    if (role !== 'system') return []
    return readList(content).flatMap((block, nth) => {
      const path = `messages.${at}.content.${nth}`
      const change = readToolChange(readObject(block), path)
      return change ? [{ change, path }] : []
    })
  })
}
