import { isObject, type Json, readList } from './json/read-json.ts'

/**
 * Whether every object of a JSON schema is closed and requires all of its properties, which strict decoding demands.
 */
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

/** A schema of an object. Another schema is wrapped, because arguments are objects in every dialect. */
export function toObjectSchema(schema: unknown): Json {
  if (!isObject(schema)) return { type: 'object', properties: {} }
  if (schema.type === 'object') return schema
  if (schema.type === undefined && !('$ref' in schema)) return { type: 'object', ...schema }
  return { type: 'object', properties: { value: schema }, required: ['value'] }
}

/** Keywords that decoders of messages backends refuse; they are told in words instead. */
const TOLD: ReadonlySet<string> = new Set([
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

/** The schema with the keywords that constrained decoding cannot keep moved into `description`. */
export function tellConstraints(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(tellConstraints)
  if (!isObject(schema)) return schema
  const told: string[] = []
  const kept: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(schema)) {
    const isTold =
      (TOLD.has(name) && !isObject(value)) || (name === 'minItems' && typeof value === 'number' && value > 1)
    if (isTold) told.push(`${name}: ${JSON.stringify(value)}`)
    else kept[name] = name === 'enum' || name === 'const' || name === 'default' ? value : tellConstraints(value)
  }
  if (told.length === 0) return kept
  const description = [kept.description, told.join(', ')].filter((text) => typeof text === 'string' && text !== '')
  return { ...kept, description: description.join(' ') }
}
