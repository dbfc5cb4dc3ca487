import { expect, it } from 'vitest'
import { isStrictSchema } from '../../src/gateway/dialects/tools/strict-schemas.ts'

const closed = (properties: object, required = Object.keys(properties)) => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
})

it.each<[string, unknown, boolean]>([
  ['a closed object that requires all its properties', closed({ path: { type: 'string' } }), true],
  ['an object that is not closed', { ...closed({}), additionalProperties: true }, false],
  ['an object that does not say whether it is closed', { type: 'object', properties: {} }, false],
  ['an object with an optional property', closed({ path: { type: 'string' } }, []), false],
  ['a closed object without a list of properties', { type: 'object', additionalProperties: false }, true],
  ['an object without a list of properties that is not closed', { type: 'object' }, false],
  ['an object or null that is not closed', { type: ['object', 'null'] }, false],
  ['closed objects in a list', closed({ all: { type: 'array', items: closed({}) } }), true],
  ['an object in a list that is not closed', closed({ all: { type: 'array', items: { type: 'object' } } }), false],
  ['an alternative that is not closed', closed({ one: { anyOf: [closed({}), { type: 'object' }] } }), false],
  ['a schema that is no object', { type: 'string' }, true],
])('%s', (_name, schema, isStrict) => {
  expect(isStrictSchema(schema)).toBe(isStrict)
})
