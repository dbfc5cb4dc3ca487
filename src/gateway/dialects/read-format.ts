import { isObject } from '../../kernel/json.ts'
import { isGiven, readBoolean, readName, readObject } from './json/read-json.ts'
import type { Json } from './json/read-json.ts'
import type { OutputFormat } from './neutral.ts'
import { refuse } from './refusal.ts'

/**
 * Reads the output format of the chat or the responses dialect; null where texts are asked for. `path` is its place in
 * the client's body. `inner`: the member of the format that has the schema and what belongs to it, if there is one.
 */
export function readFormat(format: unknown, path: string, inner?: string): OutputFormat | null {
  if (!isGiven(format)) return null
  if (!isObject(format)) refuse(path, 'It must be an object with a type.')
  if (format.type === 'text') return null
  if (format.type === 'json_object') return readJsonFormat(format)
  if (format.type !== 'json_schema') refuse(`${path}.type`, `${path} must be text, json_object or json_schema.`)
  const { name, description, schema, strict } = inner === undefined ? format : readObject(format[inner])
  return {
    kind: 'schema',
    name: readName(name),
    description: readName(description),
    schema: requireSchema(schema, inner === undefined ? path : `${path}.${inner}`),
    strict: readBoolean(strict),
  }
}

/** Fireworks, Together and llama.cpp take a schema here too. */
function readJsonFormat({ schema }: Json): OutputFormat {
  return isObject(schema) ? { kind: 'schema', name: null, description: null, schema, strict: null } : { kind: 'json' }
}

/** Returns the JSON schema of an output format. Throws a refusal for anything else. `path` is that of the format. */
export function requireSchema(schema: unknown, path: string): Json {
  return isObject(schema) ? schema : refuse(`${path}.schema`, 'The output format must have a JSON schema.')
}
