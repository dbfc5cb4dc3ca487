import type { MessageCreateParams } from '@anthropic-ai/sdk/resources/messages'
import type { ChatCompletionCreateParams } from 'openai/resources/chat/completions'
import type { ResponseCreateParams } from 'openai/resources/responses/responses'
import type { Dialect } from '../../src/gateway/dialects/dialect.ts'
import type { Json } from '../../src/gateway/dialects/json/read-json.ts'

/** One conversation with all that agents send, in each dialect; the vendors' own types check the spelling. */
const PNG = 'iVBORw0KGgo='
const PDF = 'JVBERi0xLjcK'
const SCHEMA = {
  type: 'object' as const,
  properties: { path: { type: 'string' } },
  required: ['path'],
  additionalProperties: false,
}

const CHAT = {
  model: 'svc/fast',
  stream: true,
  stream_options: { include_usage: true },
  max_completion_tokens: 4096,
  temperature: 0.5,
  stop: ['END'],
  reasoning_effort: 'medium',
  parallel_tool_calls: true,
  tool_choice: 'auto',
  safety_identifier: 'u1',
  tools: [
    { type: 'function', function: { name: 'read', description: 'Reads a file.', parameters: SCHEMA, strict: true } },
    { type: 'custom', custom: { name: 'apply_patch', description: 'Patches.' } },
  ],
  response_format: { type: 'json_schema', json_schema: { name: 'out', schema: SCHEMA, strict: true } },
  messages: [
    { role: 'system', content: 'Be brief.' },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'See' },
        { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } },
      ],
    },
    {
      role: 'assistant',
      content: 'Two at once.',
      tool_calls: [
        { id: 'call_1', type: 'function', function: { name: 'read', arguments: '{"path":"a"}' } },
        { id: 'call_2', type: 'custom', custom: { name: 'apply_patch', input: '*** Begin\n' } },
      ],
    },
    { role: 'tool', tool_call_id: 'call_1', content: 'A' },
    { role: 'tool', tool_call_id: 'call_2', content: 'Done' },
    { role: 'developer', content: 'Now in German.' },
    { role: 'user', content: 'Go on.' },
  ],
} satisfies ChatCompletionCreateParams

const RESPONSES = {
  model: 'svc/fast',
  stream: true,
  store: false,
  instructions: 'Be brief.',
  max_output_tokens: 4096,
  temperature: 0.5,
  reasoning: { effort: 'medium', summary: 'auto' },
  include: ['reasoning.encrypted_content'],
  parallel_tool_calls: true,
  tool_choice: 'auto',
  prompt_cache_key: 'session-1',
  tools: [
    { type: 'function', name: 'read', description: 'Reads a file.', parameters: SCHEMA, strict: true },
    {
      type: 'custom',
      name: 'apply_patch',
      description: 'Patches.',
      format: { type: 'grammar', syntax: 'lark', definition: 'start: "x"' },
    },
    { type: 'web_search' },
  ],
  text: { format: { type: 'json_schema', name: 'out', schema: SCHEMA, strict: true }, verbosity: 'low' },
  input: [
    {
      type: 'message',
      role: 'user',
      content: [
        { type: 'input_text', text: 'See' },
        { type: 'input_image', image_url: `data:image/png;base64,${PNG}`, detail: 'low' },
      ],
    },
    {
      type: 'reasoning',
      id: 'rs_1',
      summary: [{ type: 'summary_text', text: 'Hm.' }],
      encrypted_content: 'of-the-vendor',
    },
    { type: 'function_call', call_id: 'call_1', name: 'read', arguments: '{"path":"a"}' },
    { type: 'custom_tool_call', call_id: 'call_2', name: 'apply_patch', input: '*** Begin\n' },
    {
      type: 'function_call_output',
      call_id: 'call_1',
      output: [{ type: 'input_image', image_url: `data:image/png;base64,${PNG}`, detail: 'auto' }],
    },
    { type: 'custom_tool_call_output', call_id: 'call_2', output: 'Done' },
    { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Now in German.' }] },
    { type: 'message', role: 'user', content: 'Go on.' },
  ],
} satisfies ResponseCreateParams

const MESSAGES = {
  model: 'svc/fast',
  stream: true,
  max_tokens: 4096,
  stop_sequences: ['END'],
  thinking: { type: 'adaptive' },
  tool_choice: { type: 'auto', disable_parallel_tool_use: true },
  metadata: { user_id: '{"device_id":"d1","session_id":"session-1"}' },
  tools: [
    { name: 'read', description: 'Reads a file.', input_schema: SCHEMA, cache_control: { type: 'ephemeral' } },
    { type: 'web_search_20250305', name: 'web_search' },
  ],
  system: [
    { type: 'text', text: 'x-anthropic-billing-header: cc_version=1' },
    { type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral', ttl: '1h' } },
  ],
  messages: [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'See' },
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } },
      ],
    },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'Hm.', signature: 'of-the-vendor' },
        { type: 'text', text: 'Two at once.' },
        { type: 'tool_use', id: 'toolu_1', name: 'read', input: { path: 'a' } },
        { type: 'tool_use', id: 'toolu_2', name: 'read', input: { path: 'b' } },
      ],
    },
    {
      role: 'user',
      content: [
        {
          type: 'tool_result',
          tool_use_id: 'toolu_1',
          content: [{ type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: PDF } }],
        },
        { type: 'tool_result', tool_use_id: 'toolu_2', content: 'no such file', is_error: true },
        { type: 'text', text: 'Go on.', cache_control: { type: 'ephemeral' } },
      ],
    },
  ],
} satisfies MessageCreateParams

export const CONVERSATIONS: Readonly<Record<Dialect, Json>> = { chat: CHAT, responses: RESPONSES, messages: MESSAGES }
