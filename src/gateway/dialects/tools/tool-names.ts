import { hash } from 'node:crypto'
import type { NeutralRequest, Tool, ToolRef } from '../neutral.ts'

/** Maps the tools of a request to names in a dialect without namespaces, and names back to tools. */
export type ToolNames = {
  /** The name of a tool of the request, or of its calls. */
  toName(tool: ToolRef): string
  /** Returns the tool of a name. An unknown name becomes a function of that name. */
  toTool(name: string): ToolRef
}

/**
 * Chooses names for the tools and calls of a request. A valid name stays; a tool of a namespace is `namespace__name`. A
 * name that had to be changed or shortened, or that two tools would share, ends with 8 hexadecimal digits of a SHA-256.
 * The order of the tools does not matter, so a tool has the same name in each request of a session.
 */
export function nameTools({ tools, turns }: Pick<NeutralRequest, 'tools' | 'turns'>, maxLength: number): ToolNames {
  const found = new Map<string, ToolRef>()
  const add = (tool: ToolRef): void => void found.set(toolKeyOf(tool), tool)
  for (const tool of tools) if (tool.kind !== 'hosted') add(tool)
  for (const { parts } of turns) for (const part of parts) if (part.type === 'call') add(part.tool)

  const owners = findOwners([...found.values()])
  const toName = (tool: ToolRef): string => {
    const name = plainName(tool)
    const isOwner = owners.get(name)?.key === toolKeyOf(tool)
    return isValidName(name, maxLength) && isOwner ? name : hashedName(tool, maxLength)
  }
  const byName = new Map([...found.values()].map((tool) => [toName(tool), toRef(tool)] as const))
  return {
    toName,
    toTool: (name) => byName.get(name) ?? { kind: 'function', name, namespace: null },
  }
}

function plainName({ name, namespace }: ToolRef): string {
  return namespace === null ? name : toPrefix(namespace) + name
}

/** How the names of the tools of a namespace begin in a dialect without namespaces. */
export function toPrefix(namespace: string): string {
  return namespace.endsWith('__') ? namespace : `${namespace}__`
}

/** The lowest rank among the tools that have a name. `key`: of the only tool of this rank; null for several. */
type Owner = { readonly rank: number; readonly key: string | null }

/** Of several tools with the same name, the one with the lowest rank keeps it, when it is the only one of this rank. */
function findOwners(tools: readonly ToolRef[]): ReadonlyMap<string, Owner> {
  const owners = new Map<string, Owner>()
  for (const tool of tools) {
    const name = plainName(tool)
    const lowest = owners.get(name)?.rank ?? Infinity
    if (rank(tool) > lowest) continue
    owners.set(name, { rank: rank(tool), key: rank(tool) === lowest ? null : toolKeyOf(tool) })
  }
  return owners
}

/** A function without a namespace comes first. */
function rank({ kind, namespace }: ToolRef): number {
  return (namespace === null ? 0 : 2) + (kind === 'function' ? 0 : 1)
}

/** Whether vendors accept a text as the name of a tool, or as the id of a call. */
export function isValidName(name: string, maxLength: number): boolean {
  return name.length <= maxLength && /^[a-zA-Z0-9_-]+$/.test(name)
}

function hashedName(tool: ToolRef, maxLength: number): string {
  const digest = hash('sha256', JSON.stringify([tool.kind, tool.namespace, tool.name]), 'hex').slice(0, 8)
  const clean = plainName(tool).replaceAll(/[^a-zA-Z0-9_-]/g, '_')
  return `${clean.slice(0, maxLength - digest.length - 1)}_${digest}`
}

/**
 * Leaves the last definition of each tool, at the place of its first one. A name that is listed twice is fine for chat
 * vendors, and messages vendors refuse the request.
 */
export function keepLastTools(tools: readonly Tool[]): readonly Tool[] {
  const keyed = tools.map((tool) => [tool.kind === 'hosted' ? `hosted\0${tool.type}` : toolKeyOf(tool), tool] as const)
  return [...new Map(keyed).values()]
}

/** One text for what identifies a tool. */
export function toolKeyOf({ kind, name, namespace }: ToolRef): string {
  return `${kind}\0${namespace ?? ''}\0${name}`
}

/** What identifies a tool, without its definition. */
export function toRef({ kind, name, namespace }: ToolRef): ToolRef {
  return { kind, name, namespace }
}

/** Tells the model of a tool that the client has added during the conversation. */
export function announceTool(name: string): string {
  return `The tool ${name} is available.`
}
