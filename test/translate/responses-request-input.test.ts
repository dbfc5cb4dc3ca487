import { describe, expect, it } from 'vitest'
import type { Json } from '../../src/gateway/dialects/json/read-json.ts'
import { asked, call, called, input, message, output, PNG } from './responses-requests.ts'

describe('the input', () => {
  it.each<[string, Json, unknown[]]>([
    ['a text', { input: 'hi' }, [{ role: 'user', content: 'hi' }]],
    [
      'instructions',
      { instructions: 'be brief', input: 'hi' },
      [
        { role: 'system', content: 'be brief' },
        { role: 'user', content: 'hi' },
      ],
    ],
    [
      'a message without a type and with a text',
      { input: [{ role: 'user', content: 'hi' }] },
      [{ role: 'user', content: 'hi' }],
    ],
    [
      'every role',
      {
        instructions: 'a',
        input: [
          message('developer', input('b')),
          message('system', input('c')),
          message('user', input('hi')),
          message('assistant', { type: 'output_text', text: 'yes' }, { type: 'refusal', refusal: 'no' }),
        ],
      },
      [
        { role: 'system', content: 'a\n\nb\n\nc' },
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: 'yes\nno' },
      ],
    ],
    [
      'a developer message in mid-conversation, which chat templates reject',
      {
        input: [
          message('user', input('hi')),
          message('assistant', { type: 'output_text', text: 'yes' }),
          message('developer', input('now b')),
        ],
      },
      [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: 'yes' },
        { role: 'user', content: '<system>\nnow b\n</system>' },
      ],
    ],
    [
      'an image',
      {
        input: [
          message(
            'user',
            input('see'),
            { type: 'input_image', image_url: PNG, detail: 'auto' },
            { type: 'input_image', image_url: PNG, detail: 'low' },
            // As Codex sends the images that its tools have read.
            { type: 'input_image', image_url: PNG, detail: 'original' },
          ),
        ],
      },
      [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'see' },
            { type: 'image_url', image_url: { url: PNG } },
            { type: 'image_url', image_url: { url: PNG, detail: 'low' } },
            { type: 'image_url', image_url: { url: PNG, detail: 'high' } },
          ],
        },
      ],
    ],
    [
      'calls and their outputs, however they are ordered',
      {
        input: [
          called('a', '{"z":1, "a":2.0}'),
          called('b', ''),
          message('user', input('wait')),
          output('b', 'B'),
          output('a', [input('A'), { type: 'input_image', image_url: PNG }]),
        ],
      },
      [
        { role: 'assistant', content: null, tool_calls: [call('a', '{"z":1, "a":2.0}'), call('b')] },
        { role: 'tool', tool_call_id: 'b', content: 'B' },
        { role: 'tool', tool_call_id: 'a', content: 'A' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'wait' },
            { type: 'image_url', image_url: { url: PNG } },
          ],
        },
      ],
    ],
    [
      'the output of a tool that no call has asked for, between those of calls',
      {
        input: [
          called('a'),
          called('b'),
          output('a', 'A'),
          // As Codex 0.171 sends the goal of its tool create_goal.
          { type: 'function_call_output', name: 'goal_objective', namespace: 'agent', output: 'Finish it.' },
          { type: 'function_call_output', call_id: null, name: 'clock', output: [input('noon')] },
          output('b', 'B'),
        ],
      },
      [
        { role: 'assistant', content: null, tool_calls: [call('a'), call('b')] },
        { role: 'tool', tool_call_id: 'a', content: 'A' },
        { role: 'tool', tool_call_id: 'b', content: 'B' },
        {
          role: 'user',
          content: 'Output of the tool agent.goal_objective:\n\nFinish it.\n\nOutput of the tool clock:\n\nnoon',
        },
      ],
    ],
    [
      'text and calls of one turn in one message',
      {
        input: [
          message('assistant', { type: 'output_text', text: 'look' }),
          called('a'),
          output('a', 'A'),
          called('b'),
          output('b', 'B'),
        ],
      },
      [
        { role: 'assistant', content: 'look', tool_calls: [call('a')] },
        { role: 'tool', tool_call_id: 'a', content: 'A' },
        { role: 'assistant', content: null, tool_calls: [call('b')] },
        { role: 'tool', tool_call_id: 'b', content: 'B' },
      ],
    ],
    [
      'custom calls and their outputs',
      {
        input: [
          { type: 'custom_tool_call', call_id: 'p', name: 'apply_patch', input: '*** "Begin"\n' },
          { type: 'custom_tool_call_output', call_id: 'p', output: 'Done' },
        ],
      },
      [
        { role: 'assistant', content: null, tool_calls: [call('p', '{"input":"*** \\"Begin\\"\\n"}', 'apply_patch')] },
        { role: 'tool', tool_call_id: 'p', content: 'Done' },
      ],
    ],
    [
      'no reasoning and no searches of another model',
      {
        input: [
          message('user', input('hi')),
          { type: 'reasoning', id: 'r', summary: [], encrypted_content: 'x' },
          { type: 'web_search_call', status: 'completed', action: {} },
        ],
      },
      [{ role: 'user', content: 'hi' }],
    ],
  ])('holds %s', (_, body, messages) => {
    expect(asked(body).messages).toEqual(messages)
  })
})
