import { describe, expect, it } from 'vitest'
import type { SseEvent } from '../../src/gateway/dialects/sse/decode.ts'
import { type Json, readList, readObject } from '../../src/gateway/dialects/json/read-json.ts'
import { checkResponsesStream } from '../support/stream-grammar.ts'
import {
  callDelta,
  chunks,
  delta,
  finalResponse,
  fixture,
  jsonFixture,
  parsed,
  responsesCall,
  run,
  toResponses,
  translate,
} from './streams.ts'

const CALL: Json = {
  tools: [
    { type: 'custom', name: 'apply_patch' },
    {
      type: 'namespace',
      name: 'mcp__files',
      tools: [
        { type: 'custom', name: 'write' },
        { type: 'function', name: 'read' },
      ],
    },
  ],
}

/** The events for these chunks and `[DONE]`, none of which may break the grammar. */
function stream(...bodies: unknown[]): SseEvent[] {
  const events = run(toResponses(CALL), ...chunks(...bodies, '[DONE]'))
  expect(checkResponsesStream(events)).toEqual([])
  return events
}

const types = (events: SseEvent[]): string[] => events.map(({ event }) => String(event).replace('response.', ''))
const output = (events: SseEvent[]): Json[] => readList(finalResponse(events).output).map(readObject)
const json = (body: unknown) => responsesCall(CALL).answer.whole(body)

describe('the sequence of events', () => {
  it('of a text is whole', () => {
    expect(
      types(
        stream(
          delta({ role: 'assistant', content: '' }),
          delta({ content: 'a' }),
          delta({ content: 'b' }),
          delta({}, 'stop'),
        ),
      ),
    ).toEqual([
      'created',
      'in_progress',
      'output_item.added',
      'content_part.added',
      'output_text.delta',
      'output_text.delta',
      'output_text.done',
      'content_part.done',
      'output_item.done',
      'completed',
    ])
  })

  it('of a turn of calls only opens no text and closes what it opened', () => {
    expect(
      types(
        stream(callDelta(0, '{"a":', 'get', 'c1'), delta({ content: '' }), callDelta(0, '1}'), delta({}, 'tool_calls')),
      ),
    ).toEqual([
      'created',
      'in_progress',
      'output_item.added',
      'function_call_arguments.delta',
      'function_call_arguments.delta',
      'function_call_arguments.done',
      'output_item.done',
      'completed',
    ])
  })

  it('of reasoning shows a summary', () => {
    expect(types(stream(delta({ reasoning: 'hm' }), delta({ content: 'a' }, 'stop'))).slice(2, 7)).toEqual([
      'output_item.added',
      'reasoning_summary_part.added',
      'reasoning_summary_text.delta',
      'reasoning_summary_text.done',
      'reasoning_summary_part.done',
    ])
  })

  it('of a refusal has its own part', () => {
    expect(output(stream(delta({ refusal: 'no' }), delta({}, 'stop')))).toMatchObject([
      { type: 'message', content: [{ type: 'refusal', refusal: 'no' }] },
    ])
  })

  it('starts with the first chunk, before there is anything to say', () => {
    expect(types(toResponses().push({ event: null, data: JSON.stringify(delta({ role: 'assistant' })) }))).toEqual([
      'created',
      'in_progress',
    ])
  })

  it('numbers text and calls one by one', () => {
    const events = stream(
      delta({ content: 'a' }),
      callDelta(0, '{}', 'one', 'c1'),
      callDelta(1, '{}', 'two', 'c2'),
      delta({}, 'tool_calls'),
    )
    const added = parsed(events).filter((event) => event.type === 'response.output_item.added')
    expect(added.map((event) => event.output_index)).toEqual([0, 1, 2])
  })

  it('completes with every item, as it was done', () => {
    const events = stream(
      delta({ reasoning: 'hm' }),
      delta({ content: 'a' }),
      callDelta(0, '{"a":1}', 'one', 'c1'),
      delta({}, 'tool_calls'),
    )
    expect(output(events)).toMatchObject([
      { type: 'reasoning', summary: [{ text: 'hm' }] },
      {
        type: 'message',
        status: 'completed',
        role: 'assistant',
        content: [{ type: 'output_text', text: 'a', annotations: [] }],
      },
      { type: 'function_call', status: 'completed', call_id: 'c1', name: 'one', arguments: '{"a":1}' },
    ])
  })

  it('has one id from beginning to end', () => {
    const ids = parsed(stream(delta({ content: 'a' }, 'stop'))).flatMap((event) =>
      event.response ? [readObject(event.response).id] : [],
    )
    expect(new Set(ids).size).toBe(1)
    expect(ids).toHaveLength(3)
  })
})

describe('calls', () => {
  it('without arguments have an empty object', () => {
    expect(output(stream(callDelta(0, '', 'now', 'c1'), delta({}, 'tool_calls')))).toMatchObject([{ arguments: '{}' }])
  })

  it('keep broken arguments as the model wrote them, for the agent to tell it', () => {
    expect(output(stream(callDelta(0, '{"a":', 'get', 'c1'), delta({}, 'tool_calls')))).toMatchObject([
      { arguments: '{"a":' },
    ])
  })

  it.each([
    ['read', 'function_call'],
    ['write', 'custom_tool_call'],
  ])('of a tool in a namespace name both: %s', (name, type) => {
    const events = stream(callDelta(0, '{}', `mcp__files__${name}`, 'c1'), delta({}, 'tool_calls'))
    expect(output(events)).toMatchObject([{ type, name, namespace: 'mcp__files' }])
  })

  it.each<[string, string, string]>([
    ['in its arguments', '{"input":"*** Begin Patch\\n\\u00fc\\n"}', '*** Begin Patch\nü\n'],
    ['with no arguments around it', '*** Begin Patch\n', '*** Begin Patch\n'],
    ['of nothing', '{"input":""}', ''],
    ['missing', '', ''],
    ['under another name', '{"patch":"x"}', '{"patch":"x"}'],
  ])('of a custom tool give back the free text %s', (_, args, input) => {
    const events = stream(
      callDelta(0, args.slice(0, 5), 'apply_patch', 'c1'),
      callDelta(0, args.slice(5)),
      delta({}, 'tool_calls'),
    )
    expect(output(events)).toMatchObject([
      { type: 'custom_tool_call', status: 'completed', call_id: 'c1', name: 'apply_patch', input },
    ])
    expect(types(events).filter((type) => type.startsWith('custom'))).toEqual([
      'custom_tool_call_input.delta',
      'custom_tool_call_input.done',
    ])
  })

  it('without a name fail the answer instead of being dropped', () => {
    expect(finalResponse(stream(callDelta(0, '{}', undefined, 'c1'), delta({}, 'tool_calls')))).toMatchObject({
      status: 'failed',
    })
  })
})

describe('the end', () => {
  const usage = { choices: [], usage: { prompt_tokens: 10, completion_tokens: 4, total_tokens: 14 } }

  it('always has both details of usage', () => {
    expect(finalResponse(stream(delta({ content: 'a' }, 'stop'), usage)).usage).toEqual({
      input_tokens: 10,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 4,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 14,
    })
    expect(finalResponse(stream(delta({ content: 'a' }, 'stop'))).usage).toMatchObject({
      total_tokens: 0,
      input_tokens_details: { cached_tokens: 0 },
    })
  })

  it('carries what the engine counted of cache and reasoning', () => {
    expect(finalResponse(translate(toResponses(), fixture('vllm-interleaved-calls.sse'))).usage).toMatchObject({
      input_tokens: 100,
      input_tokens_details: { cached_tokens: 64 },
      output_tokens_details: { reasoning_tokens: 9 },
    })
  })

  it.each<[string, string, string]>([
    ['the token limit', 'length', 'max_output_tokens'],
    ['a filter', 'content_filter', 'content_filter'],
  ])('is incomplete after %s, with its usage and its last item incomplete', (_, finish, reason) => {
    const events = stream(delta({ reasoning: 'hm' }), delta({ content: 'a' }), delta({}, finish), usage)
    expect(finalResponse(events)).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason },
      usage: { total_tokens: 14 },
    })
    expect(output(events).at(-1)).toMatchObject({ type: 'message', status: 'incomplete' })
  })

  it.each<[string, unknown[]]>([
    ['ends without a reason', [delta({ content: 'a' })]],
    ['ends before it began', []],
    ['says only that it is done', ['[DONE]']],
    ['sends an error', [delta({ content: 'a' }), { error: { message: 'x' } }]],
    ['sends an error first', [{ error: { message: 'x' } }]],
    ['sends what is no JSON', ['{"choices"']],
    ['gives up', [delta({ content: 'a' }, 'abort'), '[DONE]']],
  ])('is response.failed, never an error event, when the engine %s', (_, bodies) => {
    const events = run(toResponses(), ...chunks(...bodies))
    expect(checkResponsesStream(events)).toEqual([])
    expect(types(events).at(-1)).toBe('failed')
    expect(types(events).slice(0, 2)).toEqual(['created', 'in_progress'])
    expect(finalResponse(events)).toMatchObject({ status: 'failed', error: { code: 'server_error' } })
  })

  it('tells a prompt that is too long apart, for agents that then compact it', () => {
    const events = run(
      toResponses(),
      ...chunks({ error: { message: "This model's maximum context length is 4096 tokens", code: 400 } }),
    )
    expect(finalResponse(events)).toMatchObject({ error: { code: 'context_length_exceeded' } })
  })

  it('keeps in a failure what was done and counted before', () => {
    const events = run(toResponses(), ...chunks(delta({ content: 'a' }), callDelta(0, '{', 'get', 'c'), usage))
    expect(finalResponse(events)).toMatchObject({
      status: 'failed',
      output: [{ type: 'message' }],
      usage: { total_tokens: 14 },
    })
  })
})

describe('a whole completion', () => {
  it('becomes the response that its stream would have ended with', () => {
    expect(json(jsonFixture('vllm-two-calls.json'))).toMatchObject({
      answer: {
        object: 'response',
        status: 'completed',
        created_at: 1_762_000_000,
        model: 'svc/fast',
        output: [
          { type: 'reasoning', summary: [{ text: 'Both at once.' }] },
          { type: 'function_call', name: 'search', arguments: '{"q": "cats"}' },
          { type: 'function_call', name: 'fetch', arguments: '{"url": "http://a"}' },
        ],
        usage: { input_tokens: 100, input_tokens_details: { cached_tokens: 64 }, total_tokens: 140 },
      },
    })
  })

  it('gives custom calls back as such', () => {
    const message = { tool_calls: [{ id: 'c', function: { name: 'apply_patch', arguments: '{"input":"x"}' } }] }
    expect(json({ choices: [{ message, finish_reason: 'tool_calls' }] })).toMatchObject({
      answer: { output: [{ type: 'custom_tool_call', input: 'x' }] },
    })
  })

  it('is incomplete after the token limit', () => {
    expect(json({ choices: [{ message: { content: 'a' }, finish_reason: 'length' }] })).toMatchObject({
      answer: { status: 'incomplete' },
    })
  })

  it.each([undefined, {}, { choices: [] }, { error: { message: 'x' } }])(
    'is a failure where there is none: %j',
    (body) => {
      expect(json(body)).toMatchObject({ failed: { message: expect.any(String) } })
    },
  )
})
