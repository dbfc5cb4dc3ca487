import { expect, it } from 'vitest'
import type { Dialect } from '../../src/gateway/dialects/dialect.ts'
import type { Json } from '../../src/gateway/dialects/json/read-json.ts'
import { DIALECT_NAMES } from '../../src/kernel/dialect.ts'
import { cpuSecondsOf } from '../support/cpu-seconds.ts'
import { pair } from './pairs.ts'

const NAMES = Array.from({ length: 30_000 }, (_, at) => `name_${at}`)
const HELLO = { messages: [{ role: 'user', content: 'hi' }] }

/** Requests with as many names as a body can have. */
const REQUESTS: readonly (readonly [what: string, client: Dialect, body: Json])[] = [
  [
    'tools that may be called',
    'responses',
    {
      input: 'hi',
      tools: NAMES.map((name) => ({ type: 'function', name })),
      tool_choice: { type: 'allowed_tools', mode: 'auto', tools: NAMES.map((name) => ({ type: 'function', name })) },
    },
  ],
  [
    'tools that may be called',
    'chat',
    {
      ...HELLO,
      tools: NAMES.map((name) => ({ type: 'function', function: { name } })),
      tool_choice: {
        type: 'allowed_tools',
        allowed_tools: { mode: 'auto', tools: NAMES.map((name) => ({ type: 'function', function: { name } })) },
      },
    },
  ],
  [
    'required arguments of two alternatives',
    'messages',
    {
      ...HELLO,
      tools: [{ name: 'f', input_schema: { type: 'object', anyOf: [{ required: NAMES }, { required: NAMES }] } }],
    },
  ],
]

const CASES = REQUESTS.flatMap(([what, client, body]) =>
  DIALECT_NAMES.filter((backend) => backend !== client).map((backend) => ({ what, client, backend, body })),
)

it.each(CASES)(
  'thousands of $what are translated in seconds, from $client to $backend',
  async ({ client, backend, body }) => {
    expect(await cpuSecondsOf(() => pair(client, backend, body))).toBeLessThan(2)
  },
)
