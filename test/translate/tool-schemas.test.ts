/** Schemas of tools that one vendor accepts and another refuses. Most of them come from MCP servers. */
import { describe, expect, it } from 'vitest'
import { DIALECTS } from '../../src/gateway/dialects/dialects.ts'
import { readList, readObject } from '../../src/gateway/dialects/json/read-json.ts'
import type { Json } from '../../src/gateway/dialects/json/read-json.ts'
import { toPlainSchema } from '../../src/gateway/dialects/tools/tool-schemas.ts'
import { PAIRS, pair } from './pairs.ts'

const TOOLS = {
  chat: (parameters: Json) => ({ type: 'function', function: { name: 'list', parameters } }),
  responses: (parameters: Json) => ({ type: 'function', name: 'list', parameters }),
  messages: (input_schema: Json) => ({ name: 'list', input_schema }),
}

describe.each(PAIRS)('a tool of a $client client at a $backend backend', ({ client, backend }) => {
  const written = (schema: Json): unknown => {
    const { tools } = pair(client, backend, { tools: [TOOLS[client](schema)] }).request
    const tool = readObject(readList(tools)[0])
    return tool.input_schema ?? tool.parameters ?? readObject(tool.function).parameters
  }
  const text = { type: 'string' }

  it('keeps a schema that every vendor accepts', () => {
    const schema = {
      type: 'object',
      description: 'D',
      properties: { type: text, items: { type: 'array', items: text }, any: { anyOf: [text, { type: 'null' }] } },
      required: ['type'],
      additionalProperties: false,
      $defs: { Id: text },
    }
    expect(JSON.stringify(written(schema))).toBe(JSON.stringify(schema))
  })

  it('has properties (containers/kubernetes-mcp-server#340)', () => {
    expect(written({ type: 'object' })).toEqual({ type: 'object', properties: {} })
  })

  it('is of the type object only, where its arguments may also be null', () => {
    const given = { type: ['object', 'null'], properties: { a: text } }
    const expected = { type: 'object', properties: { a: text } }
    expect(written(given)).toEqual(expected)
    const $defs = { Args: given }
    expect(written({ $ref: '#/$defs/Args', $defs })).toEqual({ ...expected, $defs })
  })

  it('has no keyword that is null, as Go writes empty lists (coder/coder#23538, opencode-ai/opencode#278)', () => {
    const given = { type: 'object', properties: { a: { ...text, enum: null, default: null } }, required: null }
    const kept = { type: 'object', properties: { a: { ...text, default: null } } }
    expect(written(given)).toEqual(kept)
  })

  it('has no $schema and no $comment, which say nothing (CLIProxyAPI#97, #3512, databricks/unity-gateway#491)', () => {
    const named = { $schema: text, $comment: text }
    const inner = { type: 'object', properties: named }
    const empty = { $schema: 'https://json-schema.org/draft/2020-12/schema', $comment: 'generated' }
    const given = { ...empty, type: 'object', properties: { a: { ...inner, ...empty } } }
    expect(written(given)).toEqual({ type: 'object', properties: { a: inner } })
  })

  it('has items in each array (archestra-ai/archestra#3864)', () => {
    const bare = { type: 'array' }
    const whole = { type: 'array', items: {} }
    const schemaWith = (array: Json) => ({
      type: 'object',
      properties: { list: array, map: { additionalProperties: array }, any: { anyOf: [{ ...array, items: array }] } },
      $defs: { List: { ...array, type: ['array', 'null'] }, Pair: { ...array, prefixItems: [text] } },
    })
    const expected = schemaWith(whole)
    expect(written(schemaWith(bare))).toEqual({
      ...expected,
      $defs: { ...expected.$defs, Pair: { type: 'array', prefixItems: [text] } },
    })
  })

  it('has no alternatives at its top level (github/github-mcp-server#3126)', () => {
    const anyOf = [{ required: ['body'] }, { required: ['reaction'] }]
    const properties = { body: text, reaction: text }
    expect(written({ type: 'object', description: 'D', properties, required: ['id'], anyOf })).toEqual({
      type: 'object',
      description: `D\nThe arguments must match: ${JSON.stringify({ anyOf })}`,
      properties,
      required: ['id'],
    })
  })

  it('has the properties of all alternatives', () => {
    const action = (name: string) => ({ const: name })
    const $defs = { Get: { properties: { action: action('get'), id: text }, required: ['action', 'id'] } }
    const oneOf = [{ $ref: '#/$defs/Get' }, { properties: { action: action('list') }, required: ['action'] }]
    const allOf = [{ properties: { team: text }, required: ['team'] }]
    expect(written({ type: 'object', oneOf, allOf, $defs })).toEqual({
      type: 'object',
      $defs,
      description: `The arguments must match: ${JSON.stringify({ oneOf, allOf })}`,
      properties: { team: text, action: { anyOf: [action('get'), action('list')] }, id: text },
      required: ['team', 'action'],
    })
  })
})

it.each(['chat', 'responses'] as const)(
  'a strict tool stays strict at a %s backend if it requires all arguments',
  (backend) => {
    const strictOf = (required: string[]) => {
      const properties = { path: { type: 'string' }, limit: { type: 'integer' } }
      const given = TOOLS.messages({ type: 'object', properties, required, additionalProperties: false })
      const { tools } = pair('messages', backend, { tools: [{ ...given, strict: true }] }).request
      const tool = readObject(readList(tools)[0])
      return readObject(tool.function ?? tool).strict ?? false
    }
    expect([strictOf(['path', 'limit']), strictOf(['path'])]).toEqual([true, false])
  },
)

describe.each(['chat', 'responses'] as const)('a tool of a %s client at a messages backend', (client) => {
  const text = { type: 'string' }
  const written = (schema: Json, strict = false): Json => {
    const tool = TOOLS[client](schema)
    const sent = 'function' in tool ? { ...tool, function: { ...tool.function, strict } } : { ...tool, strict }
    const { tools } = pair(client, 'messages', { tools: [sent] }, { caps: { strictTools: true } }).request
    return readObject(readList(tools)[0])
  }
  const odd = { type: 'object', properties: { id: text, $filter: text, 'labels[]': text, ['n'.repeat(65)]: text } }

  it('names no argument in its schema that the vendor refuses (twilio-labs/mcp#56, ComposioHQ/composio#2330)', () => {
    const { id: _, ...properties } = odd.properties
    const required = ['$filter']
    expect(written({ ...odd, description: 'D', required: ['id', '$filter'] }).input_schema).toEqual({
      type: 'object',
      description: `D\nThere are further arguments: ${JSON.stringify({ properties, required })}`,
      properties: { id: text },
      required: ['id'],
      additionalProperties: true,
    })
  })

  it('has no keyword in a strict schema that the vendor refuses (pi#9953)', () => {
    const wait = { type: 'integer', description: 'In ms.', minimum: 1, maximum: 300_000 }
    const schema = { type: 'object', properties: { wait }, required: ['wait'], additionalProperties: false }
    const described = { type: 'integer', description: 'In ms. minimum: 1, maximum: 300000' }
    const { strict, input_schema } = written(schema, true)
    expect([strict, input_schema]).toEqual([true, { ...schema, properties: { wait: described } }])
    expect(written(schema).input_schema).toEqual(schema)
  })

  it('is not strict when its schema does not name all arguments', () => {
    const closed = { required: ['id'], additionalProperties: false }
    expect(written({ ...odd, ...closed }, true)).not.toHaveProperty('strict')
    expect(written({ ...odd, ...closed, properties: { id: text } }, true)).toMatchObject({ strict: true })
  })
})

it('a tool that takes free text has a plain schema, too', () => {
  const tools = [{ type: 'custom', name: 'patch' }]
  const { request } = pair('responses', 'chat', { tools }, { caps: { schemaLimits: false } })
  expect(request.tools).toMatchObject([{ function: { name: 'patch', parameters: { type: 'object' } } }])
  expect(JSON.stringify(request.tools)).not.toContain('additionalProperties')
})

it.each(['tools', 'input'] as const)('a tool in %s of a request in its own dialect has a plain schema', (member) => {
  const tool = TOOLS.responses({ type: 'object', properties: { a: { type: 'integer', exclusiveMinimum: 0 } } })
  const body = { [member]: member === 'tools' ? [tool] : ['hi', { type: 'additional_tools', tools: [tool] }] }
  const sent = DIALECTS.responses.toAcceptedRequest(Buffer.from(JSON.stringify(body)), body, { schemaLimits: false })
  expect(sent.toString()).toContain('It must match')
  expect(sent.toString()).not.toContain('"exclusiveMinimum":0')
})

describe('a plain schema', () => {
  const plainOf = (schema: Json) => toPlainSchema({ type: 'object', properties: { a: schema } }).properties

  it.each([
    [
      'describes what only some vendors know',
      { type: 'integer', description: 'A line.', exclusiveMinimum: 0 },
      { type: 'integer', description: 'A line.\nIt must match: {"exclusiveMinimum":0}' },
    ],
    [
      'gives the type of a value to its alternatives',
      { type: 'object', anyOf: [{ properties: { b: {} } }, { type: 'null' }, { $ref: '#/$defs/C' }] },
      { anyOf: [{ type: 'object', properties: { b: {} } }, { type: 'null' }, { $ref: '#/$defs/C' }] },
    ],
    ['has alternatives in one form', { oneOf: [{ const: 'b' }] }, { anyOf: [{ enum: ['b'] }] }],
    [
      'is not closed',
      { $schema: 'x', type: 'object', properties: { b: {} }, additionalProperties: false },
      { type: 'object', properties: { b: {} } },
    ],
  ])('%s', (_, given, expected) => {
    expect(plainOf(given)).toEqual({ a: expected })
  })

  it('describes the alternatives of the arguments', () => {
    const anyOf = [{ required: ['a'] }, { required: ['b'] }]
    expect(toPlainSchema({ type: 'object', properties: { a: {}, b: {} }, anyOf })).toMatchObject({
      type: 'object',
      description: `The arguments must match: ${JSON.stringify({ anyOf })}`,
      properties: { a: {}, b: {} },
    })
  })
})
