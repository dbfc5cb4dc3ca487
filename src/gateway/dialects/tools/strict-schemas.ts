import { isObject } from '../../../kernel/json.ts'
import { readList, readObject } from '../json/read-json.ts'
import type { Json } from '../json/read-json.ts'
import type { OfferedTool } from './offer-tools.ts'
import { isOfType } from './tool-schemas.ts'

/** Whether a JSON schema is allowed in strict mode: each object is closed and requires all its properties. */
export function isStrictSchema(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.every(isStrictSchema)
  if (!isObject(schema)) return true
  if (isObject(schema.properties)) {
    const required = new Set(readList(schema.required))
    if (schema.additionalProperties !== false) return false
    if (!Object.keys(schema.properties).every((name) => required.has(name))) return false
  } else if (isOfType(schema, 'object') && schema.additionalProperties !== false) return false
  return Object.values(schema).every(isStrictSchema)
}

/**
 * Whether a tool can be strict at a backend whose strict mode requires all arguments. In the messages dialect, a strict
 * tool may have optional ones.
 */
export function isStrictTool({ strict }: Pick<OfferedTool, 'strict'>, parameters: unknown): boolean {
  return strict === true && isStrictSchema(parameters)
}

/** Keywords that messages backends accept in a schema that they enforce, with any value. */
const ACCEPTED: ReadonlySet<string> = new Set(['type', 'title', 'description', 'enum', 'const', 'required'])
/** Keywords whose value is a list of schemas, or an object of schemas. */
const LISTS: ReadonlySet<string> = new Set(['anyOf', 'allOf', 'oneOf'])
const MAPS: ReadonlySet<string> = new Set(['properties', '$defs', 'definitions'])
/** Keywords that constrain nothing. */
const EMPTY: ReadonlySet<string> = new Set(['$schema', '$id', '$comment'])
const FORMATS: ReadonlySet<unknown> = new Set([
  ...['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'uri', 'ipv4', 'ipv6', 'uuid'],
])

/**
 * Returns the schema of an output or of a strict tool in a form that messages backends accept, as the SDK of the
 * vendor writes it (`transformJSONSchema` of @anthropic-ai/sdk). Objects are closed. Keywords that the vendor refuses
 * move into `description`, where the model can read them.
 */
export function toEnforcedSchema(schema: unknown): unknown {
  if (!isObject(schema)) return schema
  const { $ref } = schema
  const described: string[] = []
  const kept: Record<string, unknown> = {}
  for (const [name, value] of Object.entries($ref === undefined ? schema : onlyReference(schema))) {
    if (name === '$ref' || ACCEPTED.has(name) || isAccepted(name, value)) kept[name] = value
    else if (LISTS.has(name)) kept[name === 'oneOf' ? 'anyOf' : name] = readList(value).map(toEnforcedSchema)
    else if (MAPS.has(name)) kept[name] = mapValues(value)
    else if (name === 'items' && !Array.isArray(value)) kept.items = toEnforcedSchema(value)
    else if (!EMPTY.has(name) && !isReplaced(name, value)) described.push(`${name}: ${JSON.stringify(value)}`)
  }
  const closed = isObject(kept.properties) || isOfType(kept, 'object') ? { ...kept, additionalProperties: false } : kept
  if (described.length === 0) return closed
  const description = [kept.description, described.join(', ')].filter((text) => typeof text === 'string' && text !== '')
  return { ...closed, description: description.join(' ') }
}

/** The vendor refuses other keywords beside a reference. */
function onlyReference(schema: Json): Json {
  return Object.fromEntries(Object.entries(schema).filter(([name]) => name === '$ref' || MAPS.has(name)))
}

function isAccepted(name: string, value: unknown): boolean {
  return (name === 'format' && FORMATS.has(value)) || (name === 'minItems' && (value === 0 || value === 1))
}

/** Whether it is an `additionalProperties` without a schema, which is replaced. */
function isReplaced(name: string, value: unknown): boolean {
  return name === 'additionalProperties' && !isObject(value)
}

function mapValues(schemas: unknown): Json {
  return Object.fromEntries(Object.entries(readObject(schemas)).map(([name, one]) => [name, toEnforcedSchema(one)]))
}
