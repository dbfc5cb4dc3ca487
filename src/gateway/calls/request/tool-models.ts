import { isObject } from '../../../kernel/json.ts'
import { isGiven, readList, readObject } from '../../dialects/json/read-json.ts'
import type { Json } from '../../dialects/json/read-json.ts'

/** A model that a tool names, and the path of the member that names it. */
export type ToolModel = { readonly path: string; readonly name: unknown }

/**
 * The models that the tools of a body name: some tools that a vendor runs have one of their own. Tools are defined in
 * `tools`, in items of `input` (`additional_tools`, `tool_search_output`), and in blocks of `messages` that change the
 * tools or repeat such changes (`tool_addition`, `compaction`).
 */
export function findToolModels({ tools, input, messages }: Json): readonly ToolModel[] {
  const found: ToolModel[] = []
  addFromList(found, tools, 'tools')
  for (const [at, item] of readList(input).entries())
    if (isObject(item) && item.tools !== undefined) addFromList(found, item.tools, `input.${at}.tools`)
  for (const [at, message] of readList(messages).entries()) {
    for (const [nth, block] of readList(readObject(message).content).entries())
      if (changesTools(block)) addFromBlock(found, block, `messages.${at}.content.${nth}`)
  }
  return found
}

/** A tool can be a namespace of others. */
function addFromList(found: ToolModel[], tools: unknown, path: string): void {
  for (const [at, tool] of readList(tools).entries()) {
    addModels(found, readObject(tool), `${path}.${at}`)
    for (const [nth, inner] of readList(readObject(tool).tools).entries())
      addModels(found, readObject(inner), `${path}.${at}.tools.${nth}`)
  }
}

function changesTools(block: unknown): block is Json {
  return isObject(block) && (isGiven(block.tool) || isGiven(block.tool_changes))
}

function addFromBlock(found: ToolModel[], { tool, tool_changes: changes }: Json, path: string): void {
  addModels(found, readObject(readObject(tool).definition), `${path}.tool.definition`)
  for (const [at, change] of readList(changes).entries())
    addModels(found, readObject(readObject(change).definition), `${path}.tool_changes.${at}.definition`)
}

/** `svg`: what writes the SVG images of OpenAI's `image_generation`. */
function addModels(found: ToolModel[], { model, svg }: Json, path: string): void {
  const { model: ofSvg } = readObject(svg)
  if (isGiven(model)) found.push({ path: `${path}.model`, name: model })
  if (isGiven(ofSvg)) found.push({ path: `${path}.svg.model`, name: ofSvg })
}
