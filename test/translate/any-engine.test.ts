import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { passChatStream } from '../../src/gateway/dialects/chat/pass-stream.ts'
import { readList, readObject, readText } from '../../src/gateway/dialects/json/read-json.ts'
import { checkMessagesStream, checkResponsesStream } from '../support/stream-grammar.ts'
import { chunks, delta, finalResponse, foldMessage, run, toMessages, toResponses } from './streams.ts'

const text = fc.constantFrom('', ' ', '\n', 'a', 'ü ', '世界', '{', '"}')
const piece = fc.record(
  {
    index: fc.option(fc.nat({ max: 2 })),
    id: fc.option(fc.constantFrom('', 'c1', 'c2', 'a:b')),
    function: fc.option(
      fc.record(
        { name: fc.constantFrom('', 'one', 'two'), arguments: fc.constantFrom('', '{}', '{"a":', '1}', ' ', '}{') },
        { requiredKeys: [] },
      ),
    ),
  },
  { requiredKeys: [] },
)
const anyDelta = fc.record(
  {
    content: fc.option(text),
    reasoning: fc.option(text),
    reasoning_content: fc.option(text),
    refusal: fc.option(fc.constantFrom('', 'no')),
    tool_calls: fc.option(fc.array(piece, { maxLength: 3 })),
  },
  { requiredKeys: [] },
)
const finish = fc.constantFrom(null, null, null, 'stop', 'length', 'tool_calls', 'content_filter', 'error')
const chunk = fc.oneof(
  { weight: 8, arbitrary: fc.tuple(anyDelta, finish).map(([said, reason]) => delta(said, reason)) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<unknown>('[DONE]', { choices: [] }, { error: 'x' }, 'no json', {}, 7, {
      choices: [{ delta: null }],
    }),
  },
  { weight: 1, arbitrary: fc.jsonValue() },
)
const anyStream = fc.array(chunk, { maxLength: 14 })

describe('with any chunks of an engine', () => {
  it('a messages stream keeps its grammar', () => {
    fc.assert(
      fc.property(anyStream, (bodies) => {
        expect(checkMessagesStream(run(toMessages(), ...chunks(...bodies)))).toEqual([])
      }),
      { numRuns: 500 },
    )
  })

  it('a responses stream keeps its grammar', () => {
    fc.assert(
      fc.property(anyStream, (bodies) => {
        expect(checkResponsesStream(run(toResponses(), ...chunks(...bodies)))).toEqual([])
      }),
      { numRuns: 500 },
    )
  })

  it('a chat stream ends once, with [DONE] or with an error', () => {
    fc.assert(
      fc.property(anyStream, (bodies) => {
        const data = run(passChatStream({ model: 'm' }), ...chunks(...bodies)).map((event) => event.data)
        expect(data.filter((one) => one === '[DONE]' || one.startsWith('{"error"'))).toEqual([data.at(-1)])
      }),
      { numRuns: 500 },
    )
  })

  it('no text is lost or repeated', () => {
    const words = fc.array(fc.constantFrom('a ', 'ü', ' 世', '\n b'), { minLength: 1, maxLength: 10 })
    const noise = fc.array(fc.constantFrom<unknown>({}, { content: '' }, { content: null }, { role: 'assistant' }), {
      maxLength: 3,
    })
    fc.assert(
      fc.property(words, noise, (said, between) => {
        const bodies = [
          ...said.flatMap((content) => [...between, { content }]).map((one) => delta(one)),
          delta({}, 'stop'),
          '[DONE]',
        ]
        expect(foldMessage(run(toMessages(), ...chunks(...bodies))).content).toEqual([
          { type: 'text', text: said.join('') },
        ])
      }),
    )
  })

  it('parallel calls arrive whole, however their fragments are mixed', () => {
    const args = fc.array(
      fc.dictionary(fc.string({ maxLength: 4 }), fc.jsonValue({ maxDepth: 1 }), { maxKeys: 3, noNullPrototype: true }),
      { minLength: 1, maxLength: 4 },
    )
    fc.assert(
      fc.property(
        args,
        fc.array(fc.nat({ max: 3 }), { maxLength: 60 }),
        fc.integer({ min: 1, max: 9 }),
        (inputs, order, size) => {
          const rest = inputs.map((input) => JSON.stringify(input))
          const first = inputs.map((_, index) => ({
            index,
            id: `c${String(index)}`,
            function: { name: `t${String(index)}`, arguments: '' },
          }))
          const mixed = [...order, ...inputs.flatMap((_, index) => Array.from({ length: 300 }, () => index))].flatMap(
            (index) => {
              const fragment = rest[index]?.slice(0, size) ?? ''
              if (fragment === '') return []
              rest[index] = rest[index]?.slice(size) ?? ''
              return [delta({ tool_calls: [{ index, function: { arguments: fragment } }] })]
            },
          )
          fc.pre(rest.every((left) => left === ''))
          const bodies = chunks(delta({ tool_calls: first }), ...mixed, delta({}, 'tool_calls'), '[DONE]')
          const response = readList(finalResponse(run(toResponses(), ...bodies)).output).map(readObject)
          expect(response.map((item) => JSON.parse(readText(item.arguments)))).toEqual(
            inputs.map((input) => JSON.parse(JSON.stringify(input))),
          )
          expect(foldMessage(run(toMessages(), ...bodies)).content.map(({ name }) => name)).toEqual(
            inputs.map((_, index) => `t${String(index)}`),
          )
        },
      ),
    )
  })
})
