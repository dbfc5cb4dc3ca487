import { isObject } from '../../../kernel/json.ts'
import { foldCase } from '../../dialects/json/edit-json.ts'
import { isGiven, readList, readObject, readText } from '../../dialects/json/read-json.ts'
import type { Json } from '../../dialects/json/read-json.ts'

/** A model that a body names beside `model`. */
export type NamedModel = {
  /** The path of its name. */
  readonly path: string
  /** Null: the backend may choose any model. */
  readonly name: unknown
}

/**
 * The models that a body names for its moderation, as Vercel's fallbacks, as parts of Groq's Compound, and in its
 * tools: some tools that a vendor runs have one of their own. Tools are defined in `tools`, in items of `input`
 * (`additional_tools`, `tool_search_output`), and in blocks of `messages` that change the tools or repeat such changes
 * (`tool_addition`, `compaction`).
 */
export function findNestedModels(body: Json): readonly NamedModel[] {
  const { moderation, providerOptions, compound_custom: compound, tools, input, messages } = body
  const found: NamedModel[] = []
  addNamed(found, readObject(moderation), 'moderation')
  addAll(found, readObject(readObject(providerOptions).gateway).models, 'providerOptions.gateway.models')
  addAll(found, readObject(compound).models, 'compound_custom.models')
  addFromList(found, tools, 'tools')
  for (const [at, item] of readList(input).entries())
    if (isObject(item) && item.tools !== undefined) addFromList(found, item.tools, `input.${at}.tools`)
  for (const [at, message] of readList(messages).entries()) {
    for (const [nth, block] of readList(readObject(message).content).entries())
      if (changesTools(block)) addFromBlock(found, block, `messages.${at}.content.${nth}`)
  }
  return found
}

/** Adds the names in a list, or in the members of an object. */
function addAll(found: NamedModel[], names: unknown, path: string): void {
  if (typeof names !== 'object' || names === null) return
  for (const [at, name] of Object.entries(names)) if (isGiven(name)) found.push({ path: `${path}.${at}`, name })
}

/** A tool can be a namespace of others. */
function addFromList(found: NamedModel[], tools: unknown, path: string): void {
  for (const [at, given] of readList(tools).entries()) {
    const tool = readObject(given)
    addModels(found, tool, `${path}.${at}`)
    for (const name of spellingsOf('tools', tool))
      for (const [nth, inner] of readList(tool[name]).entries())
        addModels(found, readObject(inner), `${path}.${at}.${name}.${nth}`)
  }
}

function changesTools(block: unknown): block is Json {
  return isObject(block) && (isGiven(block.tool) || isGiven(block.tool_changes))
}

function addFromBlock(found: NamedModel[], { tool, tool_changes: changes }: Json, path: string): void {
  addDefinition(found, readObject(tool), `${path}.tool`)
  for (const [at, change] of readList(changes).entries())
    addDefinition(found, readObject(change), `${path}.tool_changes.${at}`)
}

function addDefinition(found: NamedModel[], change: Json, path: string): void {
  for (const name of spellingsOf('definition', change)) addModels(found, readObject(change[name]), `${path}.${name}`)
}

/** `svg`: what writes the SVG images of OpenAI's `image_generation`. */
function addModels(found: NamedModel[], tool: Json, path: string): void {
  if (runsOtherModels(readText(tool.type))) found.push({ path, name: null })
  addNamed(found, tool, path)
  for (const name of spellingsOf('svg', tool)) addNamed(found, readObject(tool[name]), `${path}.${name}`)
}

const OPENROUTER = 'openrouter:'

/** The tools of OpenRouter that run no model. Others run any model, such as `advisor`, `fusion` and `subagent`. */
const RUN_NO_MODEL: ReadonlySet<string> = new Set(
  [
    'web_search',
    'web_fetch',
    'datetime',
    'apply_patch',
    'bash',
    'shell',
    'files',
    'tool_search',
    'experimental__search_models',
  ].map((name) => OPENROUTER + name),
)

function runsOtherModels(type: string): boolean {
  return type.startsWith(OPENROUTER) && !RUN_NO_MODEL.has(type)
}

function addNamed(found: NamedModel[], object: Json, path: string): void {
  for (const name of spellingsOf('model', object))
    if (isGiven(object[name])) found.push({ path: `${path}.${name}`, name: object[name] })
}

/**
 * The names in an object that equal `name` in servers that ignore case. The items of a conversation are not searched
 * in this way, because that would take too long.
 */
export function spellingsOf(name: string, object: Json): string[] {
  const found: string[] = []
  for (const given in object) if (given.length === name.length && foldCase(given) === name) found.push(given)
  return found
}
