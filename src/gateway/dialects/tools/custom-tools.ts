import { parseObject } from '../json/read-json.ts'
import type { Json } from '../json/read-json.ts'
import type { ClientTool } from '../neutral.ts'

/** Writes free text as the arguments of the function that replaces a custom tool. */
export function toArguments(input: string): string {
  return JSON.stringify({ input })
}

/** Keeps the arguments of a call that are not a JSON object, where a backend requires one. */
export function keepBroken(args: string): Json {
  return { __raw: args }
}

/** Reads the free text from the arguments. Arguments of another shape are returned as the text itself. */
export function toInput(args: string): string {
  const input = parseObject(args)?.input
  if (typeof input === 'string') return input
  return args === '{}' ? '' : args
}

/** The schema of the function that replaces a custom tool. */
export const INPUT_SCHEMA = {
  type: 'object',
  properties: { input: { type: 'string', description: 'The whole input of the tool, as plain text.' } },
  required: ['input'],
  additionalProperties: false,
}

/** Returns the description of that function, including the tool's grammar. */
export function describeCustomTool({ description, grammar }: ClientTool): string {
  const rules = grammar && `The input follows this ${grammar.syntax} grammar:\n${grammar.definition}`
  return [description, rules].filter((text) => text !== null && text !== '').join('\n\n')
}
