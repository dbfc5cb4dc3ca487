import type { ModelCaps } from '../caps.ts'
import type { ClientTool, HostedTool, NeutralRequest, Part, Tool, ToolRef } from '../neutral.ts'
import { refuse } from '../refusal.ts'
import { toolKeyOf } from './tool-names.ts'

/** The tools of a request that a backend is offered. */
export type ToolOffer = {
  readonly tools: readonly OfferedTool[]
  /** A web search that the backend runs itself. */
  readonly search: (Tool & HostedTool) | null
  /** Tools that the backend does not have. A note in the prompt says so to the model. */
  readonly withheld: readonly (Tool & HostedTool)[]
  readonly mode: 'auto' | 'required' | 'none' | null
  /** The only tools that the model may call. Null: all that are offered. */
  readonly allowed: readonly ToolRef[] | null
  readonly parallel: boolean | null
}

export type OfferedTool = Tool & ClientTool

/** The name that one agent gives to a tool that is not loaded. */
const PLACEHOLDER = 'DeferredToolPlaceholder'

/**
 * Chooses the tools that a backend is offered. Where the backend has no web search, that tool is withheld, because
 * agents offer it with every request; it is refused when it is the only tool. A search that may only use its vendor's
 * index is withheld too. Any other hosted tool is refused by name.
 *
 * A client may allow only some of its tools. Where the backend cannot be told so, it is offered only these.
 * `allowsSubsets`: the dialect can express a choice of several tools, and not only of one that must be called.
 */
export function offerTools(
  { tools, turns, choice, parallel }: NeutralRequest,
  caps: ModelCaps,
  { allowsSubsets = false }: { allowsSubsets?: boolean } = {},
): ToolOffer {
  const hosted = tools.filter((tool) => tool.kind === 'hosted')
  const search = (caps.hostedSearch && hosted.find(({ webSearch, isLive }) => webSearch && isLive)) || null
  const withheld = hosted.filter((tool) => tool !== search)
  for (const tool of withheld) refuseUnlessOptional(tool)
  const added = new Set(turns.flatMap(({ parts }) => parts.flatMap(namesAdded)))
  const own = tools.filter((tool) => tool.kind !== 'hosted').filter((tool) => isLoaded(tool, added))
  const only = choice?.only ?? null
  const allowed = only && new Set(only.map(toolKeyOf))
  const chosen = allowed === null ? own : own.filter((tool) => allowed.has(toolKeyOf(tool)))
  const isRequired = choice?.mode === 'required'
  if (isRequired && chosen.length === 0 && (only !== null || !search)) {
    refuse('tool_choice', 'No tool is there that could be called: send tools, or leave tool_choice out.')
  }
  const isOneRequired = isRequired && only?.length === 1
  const isTold = caps.namedChoice && only !== null && only.length > 0 && (allowsSubsets || isOneRequired)
  return {
    tools: isTold ? own : chosen,
    search,
    withheld,
    mode: choice?.mode ?? null,
    allowed: isTold ? only : null,
    parallel,
  }
}

/** Returns the note to the model about withheld tools; null when there are none. */
export function describeWithheld(withheld: ToolOffer['withheld']): string | null {
  const names = withheld.map(({ type }) => type)
  return names.length === 0 ? null : `The tool ${names.join(', ')} is not available in this session.`
}

/** Whether the model knows the tool: agents load a deferred tool later, by a part of the conversation. */
function isLoaded({ name, deferred }: OfferedTool, added: ReadonlySet<string>): boolean {
  return name !== PLACEHOLDER && (!deferred || added.has(name))
}

function namesAdded(part: Part): readonly string[] {
  if (part.type === 'toolsAdded') return part.names
  return part.type === 'result' ? part.parts.flatMap(namesAdded) : []
}

function refuseUnlessOptional({ type, name, webSearch, essential, path }: Tool & HostedTool): void {
  if (webSearch && !essential) return
  const called = name === '' || name === type ? type : `${name} of type ${type}`
  refuse(path, `This model has no hosted tool ${called}: leave it out, or send a function in its place.`)
}
