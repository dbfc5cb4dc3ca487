/**
 * JSON schemas of tools. MCP servers write schemas that one vendor accepts and another refuses, and a vendor that
 * refuses one tool refuses the whole request.
 */
import { isObject } from '../../../kernel/json.ts'
import type { ModelCaps } from '../caps.ts'
import { readList, readObject, readText, readTexts } from '../json/read-json.ts'
import type { Json } from '../json/read-json.ts'

/**
 * Returns the schema of a tool's arguments in a form that every vendor accepts: an object with a list of properties and
 * without alternatives at its top level, and items for every array. It is plain where the model accepts no limits.
 */
export function toToolSchema(schema: unknown, { schemaLimits }: Pick<ModelCaps, 'schemaLimits'>): Json {
  const object = withoutAlternatives(toObjectSchema(schema))
  const complete = completeArrays(isObject(object.properties) ? object : { ...object, properties: {} })
  return schemaLimits ? complete : toPlainSchema(complete)
}

/** The names that messages backends accept for the arguments of a tool. */
const ARGUMENT_NAME = /^[a-zA-Z0-9_.-]{1,64}$/

/**
 * Moves the arguments whose names messages backends refuse, such as `$filter`, into the description for the model. The
 * schema then allows any further property. These backends check the names in a schema, and not those in a call.
 */
export function describeRefusedNames(schema: Json): Json {
  const all = Object.entries(readObject(schema.properties))
  const isRefused = (name: string) => !ARGUMENT_NAME.test(name)
  const refused = all.filter(([name]) => isRefused(name))
  if (refused.length === 0) return schema
  const required = readTexts(schema.required)
  const further = { properties: Object.fromEntries(refused), required: required.filter(isRefused) }
  return {
    ...schema,
    description: addSentence(schema.description, `There are further arguments: ${JSON.stringify(further)}`),
    properties: Object.fromEntries(all.filter(([name]) => !isRefused(name))),
    required: required.filter((name) => !isRefused(name)),
    additionalProperties: true,
  }
}

function addSentence(description: unknown, sentence: string): string {
  return [readText(description), sentence].join('\n').trim()
}

/**
 * Returns the schema if it describes an object, else wraps it, because arguments are objects in every dialect. A schema
 * that is a reference to one of its definitions is replaced by that definition.
 */
function toObjectSchema(schema: unknown): Json {
  if (!isObject(schema)) return { type: 'object' }
  if (isOfType(schema, 'object')) return { ...schema, type: 'object' }
  const target = findDefinition(schema, schema)
  if (target && isOfType(target, 'object')) return { ...target, type: 'object', ...pickDefinitions(schema) }
  if (schema.type === undefined && !('$ref' in schema)) return { type: 'object', ...schema }
  return { type: 'object', properties: { value: schema }, required: ['value'] }
}

/** Whether this is the type of a schema, or one of its types. */
export function isOfType({ type }: Json, name: 'object' | 'array'): boolean {
  return type === name || readList(type).includes(name)
}

/** The definition that a schema refers to; null when it refers to none. */
function findDefinition({ $ref }: Json, root: Json): Json | null {
  const [, list = '', name = ''] = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(readText($ref)) ?? []
  const found = readObject(root[list])[name]
  return isObject(found) ? found : null
}

/** The definitions of a schema. */
function pickDefinitions({ $defs, definitions }: Json): Json {
  return { ...(isObject($defs) && { $defs }), ...(isObject(definitions) && { definitions }) }
}

/**
 * Joins the alternatives of an object into one list of properties, because the vendors refuse alternatives at the top
 * level. The description keeps them, for the model.
 */
function withoutAlternatives(schema: Json): Json {
  const { anyOf, oneOf, allOf, ...rest } = schema
  const given = { anyOf, oneOf, allOf }
  const branchesOf = (list: unknown): Json[] =>
    readList(list).map((branch) => findDefinition(readObject(branch), schema) ?? readObject(branch))
  const [all, ...choices] = [branchesOf(allOf), branchesOf(anyOf), branchesOf(oneOf)] as const
  const branches = [...all, ...choices.flat()]
  if (branches.length === 0) return rest
  const required = [rest, ...all].flatMap((branch) => readTexts(branch.required))
  const inAll = choices.flatMap(([first, ...others]) => {
    const lists = others.map((other) => new Set(readTexts(other.required)))
    return [...new Set(readTexts(first?.required))].filter((name) => lists.every((list) => list.has(name)))
  })
  return {
    ...rest,
    description: addSentence(rest.description, `The arguments must match: ${JSON.stringify(given)}`),
    properties: joinProperties([rest, ...branches].map(({ properties }) => readObject(properties))),
    required: [...new Set([...required, ...inAll])],
  }
}

/** The properties of several objects. A property that differs between them may be any of its schemas. */
function joinProperties(lists: readonly Json[]): Json {
  const found = new Map<string, Map<string, unknown>>()
  for (const [name, schema] of lists.flatMap((list) => Object.entries(list))) {
    const known = found.get(name) ?? new Map<string, unknown>()
    found.set(name, known.set(JSON.stringify(schema), schema))
  }
  return Object.fromEntries(
    [...found].map(([name, known]) => {
      const [first, ...others] = known.values()
      return [name, others.length === 0 ? first : { anyOf: [first, ...others] }]
    }),
  )
}

/** Keywords whose value is a schema, a list of schemas, or an object of schemas. */
const NESTED: ReadonlySet<string> = new Set(['items', 'additionalProperties', 'not'])
const LISTS: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'allOf', 'prefixItems'])
const MAPS: ReadonlySet<string> = new Set(['properties', '$defs', 'definitions', 'patternProperties'])

/** Keywords that may be null. Programs in Go write null for other lists and objects that are empty. */
const NULLABLE: ReadonlySet<string> = new Set(['default', 'const', 'example'])

/** Keywords that constrain nothing, and that Gemini refuses. */
const REFUSED: ReadonlySet<string> = new Set(['$schema', '$comment', 'deprecated', 'readOnly', 'writeOnly'])

/** Adds the items of arrays that have none, which some vendors require, and removes what some vendors refuse. */
function completeArrays(schema: Json): Json {
  return mapSchemas(schema, (one) => {
    const isArray = isOfType(one, 'array')
    const items = isArray && one.items === undefined && one.prefixItems === undefined ? { items: {} } : {}
    const kept = Object.entries(one).filter(([name, value]) => isKept(name, value))
    return { ...Object.fromEntries(kept), ...items }
  })
}

function isKept(name: string, value: unknown): boolean {
  return !REFUSED.has(name) && (value !== null || NULLABLE.has(name))
}

type ChangeSchema = (schema: Json) => Json

/** Changes a schema, and then each schema inside it. */
function mapSchemas(schema: Json, change: ChangeSchema): Json {
  const members = Object.entries(change(schema))
  return Object.fromEntries(members.map(([name, value]) => [name, mapMember(name, value, change)]))
}

function mapMember(name: string, value: unknown, change: ChangeSchema): unknown {
  if (NESTED.has(name)) return mapAny(value, change)
  if (LISTS.has(name) && Array.isArray(value)) return value.map((one) => mapAny(one, change))
  if (!MAPS.has(name) || !isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, mapAny(one, change)]))
}

/** A schema may also be true or false. */
function mapAny(schema: unknown, change: ChangeSchema): unknown {
  return isObject(schema) ? mapSchemas(schema, change) : schema
}

/** Keywords that llama.cpp cannot put into a grammar, or only up to a size, and those that Gemini does not know. */
const LIMITS: ReadonlySet<string> = new Set([
  ...['pattern', 'minLength', 'maxLength', 'minItems', 'maxItems', 'uniqueItems', 'contains'],
  ...['exclusiveMinimum', 'exclusiveMaximum', 'multipleOf', 'contentEncoding', 'contentMediaType', 'examples'],
  ...['propertyNames', 'patternProperties', 'minProperties', 'maxProperties', 'dependentRequired'],
  ...['not', 'if', 'then', 'else'],
])

/**
 * Returns the schema of a tool for a server that does not accept all keywords (`schemaLimits`): the limits of values
 * move into the descriptions for the model, and an object without properties allows any. The alternatives of a value
 * have its type, which Moonshot requires.
 */
export function toPlainSchema(schema: Json): Json {
  return mapSchemas(withoutAlternatives(schema), (one) => {
    const [limits, rest] = splitMembers(one, isLimit)
    const open = isEmptyObject(rest) ? splitMembers(rest, (name) => EMPTY_OBJECT.has(name))[1] : rest
    const plain = withTypedAlternatives(withoutConst(splitMembers(open, isNeedless)[1]))
    if (Object.keys(limits).length === 0) return plain
    return { ...plain, description: addSentence(plain.description, `It must match: ${JSON.stringify(limits)}`) }
  })
}

/** Whether a keyword can go. An object that is not closed to further properties means the same to a model. */
function isNeedless(name: string, value: unknown): boolean {
  return REFUSED.has(name) || (name === 'additionalProperties' && value === false)
}

function withoutConst({ const: only, ...rest }: Json): Json {
  return only === undefined ? rest : { enum: [only], ...rest }
}

function withTypedAlternatives({ oneOf, anyOf = oneOf, type, ...rest }: Json): Json {
  if (!Array.isArray(anyOf)) return type === undefined ? rest : { type, ...rest }
  const isTyped = (one: unknown) => type === undefined || !isObject(one) || '$ref' in one
  return { ...rest, anyOf: readList(anyOf).map((one) => (isTyped(one) ? one : { type, ...readObject(one) })) }
}

function isLimit(name: string, value: unknown): boolean {
  const branches = name === 'allOf' ? readList(value) : []
  return LIMITS.has(name) || (branches.length > 0 && branches.every(hasOnlyLimits))
}

function hasOnlyLimits(schema: unknown): boolean {
  return isObject(schema) && Object.keys(schema).every((name) => LIMITS.has(name))
}

const EMPTY_OBJECT: ReadonlySet<string> = new Set(['properties', 'additionalProperties'])

function isEmptyObject(schema: Json): boolean {
  const isClosed = schema.additionalProperties === undefined || schema.additionalProperties === false
  return isOfType(schema, 'object') && isClosed && Object.keys(readObject(schema.properties)).length === 0
}

/** Splits an object into the members that are chosen, and the rest. */
function splitMembers(object: Json, isChosen: (name: string, value: unknown) => boolean): readonly [Json, Json] {
  const members = Object.entries(object)
  const chosen = members.filter(([name, value]) => isChosen(name, value))
  const rest = members.filter(([name, value]) => !isChosen(name, value))
  return [Object.fromEntries(chosen), Object.fromEntries(rest)]
}
