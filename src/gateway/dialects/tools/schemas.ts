import { isObject, readList } from '../json/read-json.ts'
import type { Json } from '../json/read-json.ts'

/** Whether a JSON schema is allowed in strict mode: each object is closed and requires all its properties. */
export function isStrictSchema(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.every(isStrictSchema)
  if (!isObject(schema)) return true
  if (isObject(schema.properties)) {
    const required = readList(schema.required)
    if (schema.additionalProperties !== false) return false
    if (!Object.keys(schema.properties).every((name) => required.includes(name))) return false
  } else if (schema.type === 'object' && schema.additionalProperties !== false) return false
  return Object.values(schema).every(isStrictSchema)
}

/** Returns the schema if it describes an object, else wraps it, because arguments are objects in every dialect. */
export function toObjectSchema(schema: unknown): Json {
  if (!isObject(schema)) return { type: 'object', properties: {} }
  if (schema.type === 'object') return schema
  if (schema.type === undefined && !('$ref' in schema)) return { type: 'object', ...schema }
  return { type: 'object', properties: { value: schema }, required: ['value'] }
}

/** Keywords that messages backends refuse in an output schema. They are written into the description instead. */
const DESCRIBED_KEYWORDS: ReadonlySet<string> = new Set([
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'maxItems',
  'uniqueItems',
  'minProperties',
  'maxProperties',
])

/** Returns the schema with unsupported keywords moved into `description`, where the model can read them. */
export function describeConstraints(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(describeConstraints)
  if (!isObject(schema)) return schema
  const described: string[] = []
  const kept: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(schema)) {
    const isDescribed =
      (DESCRIBED_KEYWORDS.has(name) && !isObject(value)) ||
      (name === 'minItems' && typeof value === 'number' && value > 1)
    if (isDescribed) described.push(`${name}: ${JSON.stringify(value)}`)
    else kept[name] = name === 'enum' || name === 'const' || name === 'default' ? value : describeConstraints(value)
  }
  if (described.length === 0) return kept
  const description = [kept.description, described.join(', ')].filter((text) => typeof text === 'string' && text !== '')
  return { ...kept, description: description.join(' ') }
}
