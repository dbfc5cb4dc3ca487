import { createHash } from 'node:crypto'
import type { NeutralRequest, ToolRef } from './neutral.ts'

/** A name for each tool of a request in a dialect that has no namespaces, and the way back. */
export type ToolNames = {
  toName(tool: ToolRef): string
  /** The tool behind a name; a name that no tool has is a function as the model wrote it. */
  toTool(name: string): ToolRef
}

/**
 * Names the tools and calls of a request. A valid name stays; a tool of a namespace is `namespace__name`. A name that
 * had to be cleaned or shortened, or that two tools would share, ends in 8 hexadecimal digits of its SHA-256. So a name
 * depends on the request alone, never on the order of its tools, and a session keeps its names.
 */
export function nameTools({ tools, turns }: Pick<NeutralRequest, 'tools' | 'turns'>, maxLength: number): ToolNames {
  const found = new Map<string, ToolRef>()
  const add = (tool: ToolRef): void => void found.set(keyOf(tool), tool)
  for (const tool of tools) if (tool.kind !== 'hosted') add(tool)
  for (const { parts } of turns) for (const part of parts) if (part.type === 'call') add(part.tool)

  const claims = new Map<string, ToolRef[]>()
  for (const tool of found.values()) {
    const name = plainName(tool)
    claims.set(name, [...(claims.get(name) ?? []), tool])
  }
  const toName = (tool: ToolRef): string => {
    const name = plainName(tool)
    const isFree = (claims.get(name) ?? []).every((other) => keyOf(other) === keyOf(tool) || !outranks(other, tool))
    return isValid(name, maxLength) && isFree ? name : hashedName(tool, maxLength)
  }
  const byName = new Map([...found.values()].map((tool) => [toName(tool), toRef(tool)] as const))
  return {
    toName,
    toTool: (name) => byName.get(name) ?? { kind: 'function', name, namespace: null },
  }
}

/**
 * Ids that every vendor takes stay; any other becomes one that is always the same, so that calls and results still
 * match.
 */
export function toCallId(id: string): string {
  return isValid(id, 64) ? id : `call_${createHash('sha256').update(id).digest('base64url')}`
}

function plainName({ name, namespace }: ToolRef): string {
  return namespace === null ? name : `${namespace}${namespace.endsWith('__') ? '' : '__'}${name}`
}

/** Of two tools with one name, a function without a namespace keeps it; else neither does. */
function outranks(other: ToolRef, tool: ToolRef): boolean {
  return rank(other) <= rank(tool)
}

function rank({ kind, namespace }: ToolRef): number {
  return (namespace === null ? 0 : 2) + (kind === 'function' ? 0 : 1)
}

function isValid(name: string, maxLength: number): boolean {
  return name.length <= maxLength && /^[a-zA-Z0-9_-]+$/.test(name)
}

function hashedName(tool: ToolRef, maxLength: number): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([tool.kind, tool.namespace, tool.name]))
    .digest('hex')
    .slice(0, 8)
  const clean = plainName(tool).replaceAll(/[^a-zA-Z0-9_-]/g, '_')
  return `${clean.slice(0, maxLength - hash.length - 1)}_${hash}`
}

function keyOf({ kind, name, namespace }: ToolRef): string {
  return `${kind}\0${namespace ?? ''}\0${name}`
}

function toRef({ kind, name, namespace }: ToolRef): ToolRef {
  return { kind, name, namespace }
}
