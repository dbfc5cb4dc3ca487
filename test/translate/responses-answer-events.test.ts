import { describe, expect, it } from 'vitest'
import { readObject } from '../../src/gateway/dialects/json/read-json.ts'
import { output, stream, types } from './responses-answers.ts'
import { callDelta, delta, finalResponse, parsed, toResponses } from './streams.ts'

describe('the sequence of events', () => {
  it('of a text has each event of the dialect, from created to completed', () => {
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
