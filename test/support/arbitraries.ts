import fc from 'fast-check'
import type { Arbitrary } from 'fast-check'
import type { Document, Schema } from '../../src/docs/document.ts'

type Bounds = {
  readonly minimum?: number
  readonly maximum?: number
  readonly minItems?: number
  readonly maxItems?: number
}
type BoundedSchema = Schema & Bounds

/** The nesting depth of generated values. */
const DEPTH = 4

/** Any one Unicode character. Made once, because the package's own arbitrary is slow to set up. */
export const character: Arbitrary<string> = fc.oneof(
  fc.integer({ min: 0, max: 0x7f }).map((code) => String.fromCodePoint(code)),
  // Halves of surrogate pairs are not characters.
  fc.integer({ min: 0x80, max: 0x10f7ff }).map((code) => String.fromCodePoint(code < 0xd800 ? code : code + 0x800)),
)

/** Values that a schema of the document allows. */
export function valuesOf(document: Document, given: Schema, depth = DEPTH): Arbitrary<unknown> {
  const schema: BoundedSchema = resolve(document, given)
  if (schema.const !== undefined) return fc.constant(schema.const)
  if (schema.enum) return fc.constantFrom(...schema.enum)
  const choices = schema.anyOf ?? schema.oneOf
  if (choices) return fc.oneof(...choices.map((choice) => valuesOf(document, choice, depth)))
  if (schema.allOf?.[0]) return valuesOf(document, schema.allOf[0], depth)
  if (schema.type === 'object' || schema.properties) return objectsOf(document, schema, depth)
  if (schema.type === 'array') {
    const length = { minLength: schema.minItems ?? 0, maxLength: Math.min(schema.maxItems ?? 3, 3) }
    return depth === 0 ? fc.constant([]) : fc.array(valuesOf(document, schema.items ?? {}, depth - 1), length)
  }
  return scalars(schema)
}

function objectsOf(document: Document, schema: BoundedSchema, depth: number): Arbitrary<object> {
  const known = Object.fromEntries(
    Object.entries(schema.properties ?? {}).map(([name, property]) => [name, valuesOf(document, property, depth - 1)]),
  )
  const required = (schema.required ?? []).filter((name) => name in known)
  const declared = fc.record(known, { requiredKeys: required })
  if (schema.additionalProperties === false) return declared
  const more = fc.dictionary(fc.stringMatching(/^x_[a-z]{1,5}$/), fc.jsonValue({ maxDepth: 1 }), { maxKeys: 1 })
  return fc.tuple(declared, more).map(([fields, others]) => ({ ...others, ...fields }))
}

function scalars(schema: BoundedSchema): Arbitrary<unknown> {
  const { type, format, pattern, minimum, maximum } = schema
  if (type === 'boolean') return fc.boolean()
  if (type === 'null') return fc.constant(null)
  if (type === 'integer') return fc.integer({ min: minimum ?? -2, max: maximum ?? 2 ** 31 - 1 })
  if (type === 'number') return fc.double({ min: minimum ?? -1e6, max: maximum ?? 1e6, noNaN: true })
  if (type !== 'string') return fc.jsonValue({ maxDepth: 1 })
  if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern))
  if (format === 'uuid') return fc.uuid()
  if (format === 'date-time') return fc.date({ noInvalidDate: true }).map((date) => date.toISOString())
  if (format === 'uri') return fc.webUrl()
  const { minLength = 0, maxLength = 40 } = schema
  return fc.string({ unit: character, minLength, maxLength: Math.max(minLength, Math.min(maxLength, 40)) })
}

/**
 * Bodies that the schema does not allow: a required field is missing, a field has another type, or a field is
 * undeclared.
 */
export function brokenBodies(document: Document, given: Schema, valid: Arbitrary<unknown>): Arbitrary<unknown> {
  const schema = resolve(document, given)
  const required = schema.required ?? []
  const names = Object.entries(schema.properties ?? {})
  const typed = names.filter(([, property]) => resolve(document, property).type !== undefined)
  const ways = [
    valid.map((body) => [body]),
    ...required.map((name) => valid.map((body) => without(body, name))),
    ...typed.map(([name, property]) =>
      valid.map((body) => ({ ...(body as object), [name]: notOf(resolve(document, property).type) })),
    ),
    ...(schema.additionalProperties === false
      ? [valid.map((body) => ({ ...(body as object), undeclared: true }))]
      : []),
  ]
  return fc.oneof(...ways)
}

function without(body: unknown, name: string): object {
  return Object.fromEntries(Object.entries(body as object).filter(([key]) => key !== name))
}

/** A value of another type that no coercion turns into this type. */
function notOf(type: string | undefined): unknown {
  return type === 'object' ? ['x'] : { not: 'this' }
}

/** The schema that a `$ref` stands for, or the schema itself. */
export function resolve(document: Document, schema: Schema): Schema {
  const name = schema.$ref?.split('/').at(-1)
  return name === undefined ? schema : resolve(document, document.components.schemas[name] ?? {})
}
