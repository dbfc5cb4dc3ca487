import type { ModelCaps } from './caps.ts'
import type { ClientTool, HostedTool, NeutralRequest, Tool, ToolRef } from './neutral.ts'
import { refuse } from './refusal.ts'

/** The tools of a request that a backend is offered. */
export type ToolOffer = {
  readonly tools: readonly OfferedTool[]
  /** A web search that the backend runs itself. */
  readonly search: HostedTool | null
  /** Tools that the backend has not got and the model is told of. */
  readonly withheld: readonly Tool[]
  readonly mode: 'auto' | 'required' | 'none' | null
  /** The tool that must be called; null unless there is exactly one and the backend takes names. */
  readonly named: ToolRef | null
  readonly parallel: boolean | null
}

export type OfferedTool = Tool & ClientTool

/** One agent writes this name where a tool stands that is not loaded. */
const PLACEHOLDER = 'DeferredToolPlaceholder'

/**
 * Chooses what a backend is offered. Web search is withheld where there is none, because agents offer it with every
 * request and a model may choose not to use it; it is refused where the request relies on it. Any other hosted tool is
 * refused by name.
 */
export function offerTools({ tools, turns, choice, parallel }: NeutralRequest, caps: ModelCaps): ToolOffer {
  const added = new Set(turns.flatMap(({ parts }) => parts.flatMap(namesAdded)).flatMap(({ names }) => names))
  const search = tools.find((tool) => tool.kind === 'hosted' && caps.hostedSearch && tool.webSearch) ?? null
  const withheld: Tool[] = []
  const own: OfferedTool[] = []
  for (const tool of tools) {
    if (tool.kind === 'hosted') {
      if (tool === search) continue
      refuseUnlessOptional(tool)
      withheld.push(tool)
    } else if (tool.name !== PLACEHOLDER && (!tool.deferred || added.has(tool.name))) own.push(tool)
  }
  const only = choice?.only ?? null
  const chosen = only === null ? own : own.filter((tool) => only.some((ref) => isSame(ref, tool)))
  if (choice?.mode === 'required' && chosen.length === 0) {
    refuse('tool_choice', 'A tool cannot be demanded where there are none.')
  }
  const isNamed = caps.namedChoice && choice?.mode === 'required' && only?.length === 1
  return {
    tools: isNamed ? own : chosen,
    search: search?.kind === 'hosted' ? search : null,
    withheld,
    mode: choice?.mode ?? null,
    named: isNamed ? (only[0] ?? null) : null,
    parallel,
  }
}

/** What the model is told of withheld tools; null where there is nothing to tell. */
export function tellWithheld(withheld: readonly Tool[]): string | null {
  const names = withheld.map((tool) => (tool.kind === 'hosted' ? tool.type : tool.name))
  return names.length === 0 ? null : `The tool ${names.join(', ')} is not available in this session.`
}

type AddedNames = { readonly names: readonly string[] }

function namesAdded(part: NeutralRequest['turns'][number]['parts'][number]): readonly AddedNames[] {
  if (part.type === 'toolsAdded') return [part]
  return part.type === 'result' ? part.parts.flatMap(namesAdded) : []
}

function refuseUnlessOptional({ type, name, webSearch, essential, path }: Tool & HostedTool): void {
  if (webSearch && !essential) return
  const called = name === '' || name === type ? type : `${name} of type ${type}`
  refuse(path, `The hosted tool ${called} does not exist on this model.`)
}

function isSame(a: ToolRef, b: ToolRef): boolean {
  return a.kind === b.kind && a.name === b.name && a.namespace === b.namespace
}
