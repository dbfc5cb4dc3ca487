import { isGiven, readList, readObject } from '../json/read-json.ts'
import type { Json } from '../json/read-json.ts'
import type { Tool, ToolChoice, ToolRef } from '../neutral.ts'
import { toolKeyOf, toRef } from './tool-names.ts'

/** Reads a tool that a choice names. */
type ReadChosen = (choice: Json, find: FindTool) => ToolRef

/** Reads the choice of tools in the chat or the responses dialect. `allowed`: lists the allowed tools. */
export function readToolChoice(
  choice: unknown,
  allowed: unknown,
  tools: readonly Tool[],
  readChosen: ReadChosen,
): ToolChoice | null {
  if (!isGiven(choice)) return null
  const given = readObject(choice)
  const named = MODES.get(given.type ?? choice)
  if (named) return { mode: named, only: null }
  const find = makeFindTool(tools)
  if (given.type !== 'allowed_tools') return { mode: 'required', only: [readChosen(given, find)] }
  const { mode, tools: chosen } = readObject(allowed)
  return {
    mode: mode === 'required' ? 'required' : 'auto',
    only: readList(chosen).map((tool) => readChosen(readObject(tool), find)),
  }
}

/** `any` is Mistral's name of `required`. Cursor writes a mode as the type of an object. */
const MODES: ReadonlyMap<unknown, ToolChoice['mode']> = new Map([
  ['auto', 'auto'],
  ['none', 'none'],
  ['required', 'required'],
  ['any', 'required'],
])

/** Finds a tool of the client. Without a namespace, it is the first one of this kind and name. */
export type FindTool = (tool: Pick<ToolRef, 'kind' | 'name'>, namespace?: string | null) => ToolRef | undefined

/** Makes the look-up of the tools that a choice may name. */
function makeFindTool(tools: readonly Tool[]): FindTool {
  const own = tools.filter((tool) => tool.kind !== 'hosted').toReversed()
  const inNamespace = new Map(own.map((tool) => [toolKeyOf(tool), toRef(tool)]))
  const anywhere = new Map(own.map((tool) => [toolKeyOf({ ...tool, namespace: null }), toRef(tool)]))
  return (tool, namespace) => {
    const key = toolKeyOf({ ...tool, namespace: namespace ?? null })
    return namespace === undefined ? anywhere.get(key) : inNamespace.get(key)
  }
}
