/** What the page shows of a JSON schema: its fields with types and limits, and a sample value. */
import { html } from '../http/page.ts'
import type { Html, Interpolation } from '../http/page.ts'
import type { Document, Parameter, Schema } from './document.ts'
import { prose } from './text.ts'

/** Fields are shown down to this level of nesting. */
const MAX_DEPTH = 5

/** Lists parameters with their types, limits and descriptions. */
export function parameterList(parameters: readonly Parameter[], document: Document): Html {
  return html`<ul class="fields">
    ${parameters
      .map((parameter) => resolveParameter(parameter, document))
      .map(({ name, in: place, required, description = '', schema = {} }) => {
        const facts = [typeOf(schema, document), ...limitsOf(schema, document), place, !required && 'optional']
        return html`<li>${fieldHead(name, facts)} ${prose(description)}</li>`
      })}
  </ul>`
}

/** Lists the fields of an object, or of the objects in a list or a choice. Null when there are none. */
export function fieldList(given: Schema, document: Document, depth = MAX_DEPTH): Html | null {
  const schema = resolve(given, document)
  if (schema.items) return fieldList(schema.items, document, depth)
  const choices = choicesOf(schema)
  if (choices.length > 0) return html`${choices.map((choice) => fieldList(choice, document, depth))}`
  const properties = Object.entries(schema.properties ?? {})
  if (properties.length === 0 || depth === 0) return null
  return html`<ul class="fields">
    ${properties.map(([name, property]) => {
      const { description = '' } = { ...resolve(property, document), ...property }
      const isOptional = !schema.required?.includes(name)
      const facts = [typeOf(property, document), ...limitsOf(property, document), isOptional && 'optional']
      return html`<li>${fieldHead(name, facts)} ${prose(description)} ${fieldList(property, document, depth - 1)}</li>`
    })}
  </ul>`
}

function fieldHead(name: string, facts: readonly Interpolation[]): Html {
  const shown = facts.filter(Boolean).map((fact, index) => html`${index > 0 && ', '}${fact}`)
  return html`<p><code>${name}</code> <span class="soft">${shown}</span></p>`
}

/** The schema itself, or the one that its `$ref` refers to. */
export function resolve(schema: Schema, { components }: Document): Schema {
  const name = lastOf(schema.$ref)
  return name === undefined ? schema : (components.schemas[name] ?? {})
}

function resolveParameter(parameter: Parameter, { components }: Document): Parameter {
  const name = lastOf(parameter.$ref)
  return name === undefined ? parameter : (components.parameters?.[name] ?? parameter)
}

function lastOf(ref: string | undefined): string | undefined {
  return ref?.split('/').at(-1)
}

/** The alternatives of a schema; empty when it has none. */
export function choicesOf({ anyOf, oneOf, allOf }: Schema): readonly Schema[] {
  return anyOf ?? oneOf ?? allOf ?? []
}

/**
 * Writes a type in a few words: `string (uri)`, `Worker[]`, `"a" | "b"`. Only a type with fields is written as its
 * name.
 */
function typeOf(given: Schema, document: Document): string {
  const schema = resolve(given, document)
  if (given.$ref !== undefined && schema.properties) return lastOf(given.$ref) ?? ''
  const { items, type, format, enum: values, const: value } = schema
  if (items) return `${inParentheses(typeOf(items, document))}[]`
  const choices = choicesOf(schema)
  if (choices.length > 0) return choices.map((choice) => typeOf(choice, document)).join(' | ')
  if (value !== undefined) return JSON.stringify(value)
  if (values) return values.map((one) => JSON.stringify(one)).join(' | ')
  return `${type ?? 'anything'}${format ? ` (${format})` : ''}`
}

function inParentheses(type: string): string {
  return type.includes(' | ') ? `(${type})` : type
}

/** The limits of a value: lengths, sizes, numbers and the pattern. */
function limitsOf(given: Schema, document: Document): readonly Interpolation[] {
  const schema = { ...resolve(given, document), ...given }
  return [
    rangeOf(schema.minLength, schema.maxLength, 'characters'),
    rangeOf(schema.minItems, schema.maxItems, 'items'),
    rangeOf(schema.minimum, schema.maximum, ''),
    schema.pattern !== undefined && html`pattern <code>${schema.pattern}</code>`,
  ]
}

function rangeOf(min: number | undefined, max: number | undefined, unit: string): string | null {
  if (min === undefined && max === undefined) return null
  const range = max === undefined ? `at least ${min}` : min === undefined ? `at most ${max}` : `${min} to ${max}`
  return `${range} ${unit}`.trim()
}

/** A value that a schema allows, from its constants and examples. Undefined when they do not determine one. */
export function sampleOf(given: Schema, document: Document): unknown {
  const schema = resolve(given, document)
  const { const: constant, enum: values, examples, properties } = schema
  const [found] = [constant, examples?.[0], values?.[0]].filter((value) => value !== undefined)
  if (found !== undefined || !properties) return found
  const fields = Object.entries(properties).map(([name, property]) => [name, sampleOf(property, document)] as const)
  return fields.some(([, value]) => value === undefined) ? undefined : Object.fromEntries(fields)
}
