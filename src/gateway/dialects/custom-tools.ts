import { parseObject } from './json/read-json.ts'
import type { ClientTool } from './neutral.ts'

/** Free text as the arguments of the function that stands for a custom tool. */
export function toArguments(input: string): string {
  return JSON.stringify({ input })
}

/** The free text back. A model that wrote no such arguments wrote the text itself. */
export function toInput(args: string): string {
  const input = parseObject(args)?.input
  if (typeof input === 'string') return input
  return args === '{}' ? '' : args
}

/** The schema of the function that stands for a custom tool. */
export const INPUT_SCHEMA = {
  type: 'object',
  properties: { input: { type: 'string', description: 'The whole input of the tool, as plain text.' } },
  required: ['input'],
  additionalProperties: false,
}

/** The description of that function, which tells the grammar in words. */
export function describeCustomTool({ description, grammar }: ClientTool): string {
  const rules = grammar && `The input follows this ${grammar.syntax} grammar:\n${grammar.definition}`
  return [description, rules].filter((text) => text !== null && text !== '').join('\n\n')
}
