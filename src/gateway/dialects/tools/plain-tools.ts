import { isObject } from '../../../kernel/json.ts'
import type { ModelCaps } from '../caps.ts'
import type { Json } from '../json/read-json.ts'
import { rewriteItems, rewriteList } from '../json/rewrite-list.ts'
import { toPlainSchema } from './tool-schemas.ts'

/**
 * Returns a request with plain schemas of its tools for a server that fails at limits in them (`schemaLimits`), and the
 * same bytes for any other. The schema of a tool is `function.parameters` in chat, `parameters` in responses, where the
 * tools of a namespace are in its `tools`, and `input_schema` in messages. Items of `input` add tools in responses.
 * `body` is the request.
 */
export function withPlainTools(request: Buffer, body: Json, { schemaLimits = true }: Partial<ModelCaps>): Buffer {
  if (schemaLimits) return request
  const plain = rewriteList(request, 'tools', (tools) => tools.map(toPlainTool))
  return rewriteItems(plain, body, 'input', (item) => (isObject(item) && item.tools ? [toPlainTool(item)] : null))
}

function toPlainTool(tool: unknown): unknown {
  if (!isObject(tool)) return tool
  return Object.fromEntries(Object.entries(tool).map(([name, value]) => [name, toPlainMember(name, value)]))
}

const SCHEMAS: ReadonlySet<string> = new Set(['parameters', 'input_schema'])

function toPlainMember(name: string, value: unknown): unknown {
  if (name === 'function') return toPlainTool(value)
  if (name === 'tools' && Array.isArray(value)) return value.map(toPlainTool)
  return SCHEMAS.has(name) && isObject(value) ? toPlainSchema(value) : value
}
