/**
 * Every member of the vendors' unions, by the types of their SDKs: a new member does not compile until it is decided
 * here what becomes of it. Nothing that a client sends may be lost silently, so what no other dialect has is refused.
 */
import type {
  BetaContentBlockParam,
  BetaRawContentBlockDelta,
  BetaRawMessageStreamEvent,
  BetaStopReason,
  BetaToolUnion,
} from '@anthropic-ai/sdk/resources/beta/messages/messages'
import type {
  ChatCompletion,
  ChatCompletionContentPart,
  ChatCompletionMessageParam,
  ChatCompletionTool,
} from 'openai/resources/chat/completions'
import type {
  ResponseContent,
  ResponseInputItem,
  ResponseOutputItem,
  ResponseStreamEvent,
  Tool,
} from 'openai/resources/responses/responses'
import { describe, expect, it } from 'vitest'
import type { Json } from '../../src/gateway/dialects/json/read-json.ts'
import { DEFAULT_CAPS } from '../../src/gateway/dialects/caps.ts'
import { pair, refusalOf } from './pairs.ts'
import { parsed } from './streams.ts'

/** `carried` and `dropped` are no refusals. What is dropped is useless to another model. */
type Fate = 'carried' | 'dropped' | 'refused'

const isRefused = (fate: Fate) => fate === 'refused'
const ABLE = { caps: { ...DEFAULT_CAPS.messages, prefill: true } }
const URL = 'https://example.com/a'

describe('requests of the responses dialect', () => {
  const call = { call_id: 'c1', name: 'read', arguments: '{}' }
  const called = { type: 'function_call', ...call }
  /** What an item must have besides its type. */
  const members: Partial<Record<string, Json>> = {
    message: { role: 'user', content: 'hi' },
    function_call: call,
    function_call_output: { call_id: 'c1', output: 'x' },
    custom_tool_call: { call_id: 'c2', name: 'patch', input: 'x' },
    custom_tool_call_output: { call_id: 'c1', output: 'x' },
    reasoning: { summary: [] },
    additional_tools: { role: 'developer', tools: [] },
    item_reference: { id: 'msg_1' },
    compaction: { encrypted_content: 'of-the-vendor' },
  }
  const items: Readonly<Record<NonNullable<ResponseInputItem['type']>, Fate>> = {
    message: 'carried',
    function_call: 'carried',
    function_call_output: 'carried',
    custom_tool_call: 'carried',
    custom_tool_call_output: 'carried',
    additional_tools: 'carried',
    reasoning: 'dropped',
    web_search_call: 'dropped',
    item_reference: 'refused',
    compaction: 'refused',
    compaction_trigger: 'refused',
    configuration_update: 'refused',
    file_search_call: 'refused',
    computer_call: 'refused',
    computer_call_output: 'refused',
    tool_search_call: 'refused',
    tool_search_output: 'refused',
    image_generation_call: 'refused',
    code_interpreter_call: 'refused',
    local_shell_call: 'refused',
    local_shell_call_output: 'refused',
    shell_call: 'refused',
    shell_call_output: 'refused',
    apply_patch_call: 'refused',
    apply_patch_call_output: 'refused',
    mcp_list_tools: 'refused',
    mcp_approval_request: 'refused',
    mcp_approval_response: 'refused',
    mcp_call: 'refused',
    program: 'refused',
    program_output: 'refused',
  }

  it.each(Object.entries(items))('an item of type %s is %s', (type, fate) => {
    const input = [called, { type, ...members[type] }, { role: 'user', content: 'hi' }]
    for (const backend of ['chat', 'messages'] as const) {
      expect(refusalOf('responses', backend, { input })).toBe(isRefused(fate) ? 'input.1' : null)
    }
  })

  const tools: Readonly<Record<Tool['type'], Fate>> = {
    function: 'carried',
    custom: 'carried',
    namespace: 'carried',
    web_search: 'dropped',
    web_search_2025_08_26: 'dropped',
    web_search_preview: 'dropped',
    web_search_preview_2025_03_11: 'dropped',
    file_search: 'refused',
    computer: 'refused',
    computer_use_preview: 'refused',
    mcp: 'refused',
    code_interpreter: 'refused',
    programmatic_tool_calling: 'refused',
    image_generation: 'refused',
    local_shell: 'refused',
    shell: 'refused',
    tool_search: 'refused',
    apply_patch: 'refused',
  }

  it.each(Object.entries(tools))('a tool of type %s is %s', (type, fate) => {
    const body = { input: 'hi', tools: [{ type, name: 'one', tools: [] }] }
    expect(refusalOf('responses', 'chat', body)).toBe(isRefused(fate) ? 'tools.0' : null)
  })

  const parts: Readonly<Record<ResponseContent['type'], Fate>> = {
    input_text: 'carried',
    output_text: 'carried',
    refusal: 'carried',
    input_image: 'carried',
    input_file: 'carried',
    reasoning_text: 'refused',
  }

  it.each(Object.entries(parts))('a part of type %s is %s', (type, fate) => {
    const part = { type, text: 'a', refusal: 'a', image_url: URL, file_url: URL }
    const input = [{ role: 'user', content: [part] }]
    expect(refusalOf('responses', 'messages', { input })).toBe(isRefused(fate) ? 'input.0.content.0' : null)
  })
})

describe('requests of the messages dialect', () => {
  type Roles = Readonly<{ user: Fate; assistant: Fate }>
  const NEITHER: Roles = { user: 'refused', assistant: 'refused' }
  const blocks: Readonly<Record<BetaContentBlockParam['type'], Roles>> = {
    text: { user: 'carried', assistant: 'carried' },
    image: { user: 'carried', assistant: 'refused' },
    document: { user: 'carried', assistant: 'refused' },
    search_result: { user: 'carried', assistant: 'refused' },
    tool_result: { user: 'carried', assistant: 'refused' },
    tool_use: { user: 'refused', assistant: 'carried' },
    thinking: { user: 'refused', assistant: 'dropped' },
    redacted_thinking: { user: 'refused', assistant: 'dropped' },
    server_tool_use: { user: 'refused', assistant: 'dropped' },
    web_search_tool_result: { user: 'refused', assistant: 'dropped' },
    web_fetch_tool_result: NEITHER,
    advisor_tool_result: NEITHER,
    code_execution_tool_result: NEITHER,
    bash_code_execution_tool_result: NEITHER,
    text_editor_code_execution_tool_result: NEITHER,
    tool_search_tool_result: NEITHER,
    mcp_tool_use: NEITHER,
    mcp_tool_result: NEITHER,
    mcp_tool_listing: NEITHER,
    container_upload: NEITHER,
    compaction: { user: 'refused', assistant: 'dropped' },
    tool_addition: NEITHER,
    tool_removal: NEITHER,
    fallback: { user: 'refused', assistant: 'dropped' },
  }
  const members = {
    text: 'a',
    source: { type: 'url', url: URL },
    title: 'a',
    content: [],
    id: 'c2',
    tool_use_id: 'c1',
    name: 'web_search',
    input: {},
  }
  const cases = Object.entries(blocks).flatMap(([type, { user, assistant }]) => [
    ['user', type, user] as const,
    ['assistant', type, assistant] as const,
  ])

  it.each(cases)('in a turn of the %s, a block of type %s is %s', (role, type, fate) => {
    const messages = [
      { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'read', input: {} }] },
      { role, content: [{ type, ...members }] },
      { role: 'user', content: 'hi' },
    ]
    expect(refusalOf('messages', 'responses', { messages })).toBe(isRefused(fate) ? 'messages.1.content.0' : null)
  })

  it.each<[Exclude<BetaToolUnion['type'], null | undefined>, Fate]>([
    ['custom', 'carried'],
    ['web_search_20250305', 'dropped'],
    ['web_search_20260209', 'dropped'],
    ['web_search_20260318', 'dropped'],
    ['bash_20250124', 'refused'],
    ['computer_20251124', 'refused'],
    ['text_editor_20250728', 'refused'],
    ['memory_20250818', 'refused'],
    ['code_execution_20260521', 'refused'],
    ['web_fetch_20260318', 'refused'],
    ['tool_search_tool_bm25_20251119', 'refused'],
    ['mcp_toolset', 'refused'],
    ['advisor_20260301', 'refused'],
  ])('a tool of type %s is %s', (type, fate) => {
    const tools = [
      { name: 'read', input_schema: { type: 'object' } },
      { type, name: 'one' },
    ]
    expect(refusalOf('messages', 'chat', { tools })).toBe(isRefused(fate) ? 'tools.1' : null)
  })
})

describe('requests of the chat dialect', () => {
  const roles: Readonly<Record<ChatCompletionMessageParam['role'], Fate>> = {
    system: 'carried',
    developer: 'carried',
    user: 'carried',
    assistant: 'carried',
    tool: 'carried',
    function: 'refused',
  }

  it.each(Object.entries(roles))('a message of the role %s is %s', (role, fate) => {
    const tool_calls = [{ id: 'c1', type: 'function', function: { name: 'read', arguments: '{}' } }]
    const messages = [
      { role: 'assistant', tool_calls },
      { role, content: 'a', tool_call_id: 'c1' },
      { role: 'user', content: 'hi' },
    ]
    expect(refusalOf('chat', 'messages', { messages })).toBe(isRefused(fate) ? 'messages.1.role' : null)
  })

  const parts: Readonly<Record<ChatCompletionContentPart['type'], Fate>> = {
    text: 'carried',
    image_url: 'carried',
    file: 'carried',
    // No other dialect has it.
    input_audio: 'refused',
  }

  it.each(Object.entries(parts))('a part of type %s is %s', (type, fate) => {
    const file = { file_data: 'data:application/pdf;base64,AAAA' }
    const part = { type, text: 'a', image_url: { url: URL }, file, input_audio: { data: 'AAAA', format: 'wav' } }
    const messages = [{ role: 'user', content: [part] }]
    expect(refusalOf('chat', 'messages', { messages })).toBe(isRefused(fate) ? 'messages.0.content.0' : null)
  })

  it.each<[ChatCompletionTool['type'] | 'web_search', Fate]>([
    ['function', 'carried'],
    ['custom', 'carried'],
    ['web_search', 'refused'],
  ])('a tool of type %s is %s', (type, fate) => {
    const tools = [{ type, [type]: { name: 'one' } }]
    expect(refusalOf('chat', 'messages', { tools })).toBe(isRefused(fate) ? 'tools.0' : null)
  })
})

describe('answers', () => {
  const finishOf = (answer: unknown): unknown => {
    const made = pair('chat', 'messages', {}, ABLE).answer.whole(answer)
    return 'answer' in made ? made.answer : made
  }
  const stops: Readonly<Record<BetaStopReason, ChatCompletion.Choice['finish_reason']>> = {
    end_turn: 'stop',
    stop_sequence: 'stop',
    pause_turn: 'stop',
    // Only a request that asks for a compaction is answered with it.
    compaction: 'stop',
    max_tokens: 'length',
    model_context_window_exceeded: 'length',
    refusal: 'content_filter',
    tool_use: 'tool_calls',
  }

  it.each(Object.entries(stops))('of the messages dialect that end with %s end with %s for chat', (stop, finish) => {
    const content = [{ type: 'tool_use', id: 'c1', name: 'read', input: {} }].filter(() => stop === 'tool_use')
    const answer = { type: 'message', content, stop_reason: stop, usage: {} }
    expect(finishOf(answer)).toMatchObject({ choices: [{ finish_reason: finish }] })
  })

  /** `silent`: alone it gives no event. */
  type Reading = 'read' | 'silent'
  const events: Readonly<Record<ResponseStreamEvent['type'], Reading>> = {
    'response.created': 'read',
    'response.in_progress': 'read',
    'response.completed': 'read',
    'response.incomplete': 'read',
    'response.failed': 'read',
    error: 'read',
    'response.output_item.added': 'read',
    'response.output_item.done': 'read',
    'response.output_text.delta': 'read',
    'response.refusal.delta': 'read',
    'response.reasoning_summary_text.delta': 'silent',
    'response.reasoning_text.delta': 'silent',
    'response.function_call_arguments.delta': 'silent',
    'response.custom_tool_call_input.delta': 'silent',
    'response.function_call_arguments.done': 'silent',
    'response.custom_tool_call_input.done': 'silent',
    'response.output_text.done': 'silent',
    'response.refusal.done': 'silent',
    'response.content_part.added': 'silent',
    'response.content_part.done': 'silent',
    'response.reasoning_summary_part.added': 'silent',
    'response.reasoning_summary_part.done': 'silent',
    'response.reasoning_summary_text.done': 'silent',
    'response.reasoning_text.done': 'silent',
    'response.output_text.annotation.added': 'silent',
    'response.queued': 'silent',
    'response.compaction.compacting': 'silent',
    'response.audio.delta': 'silent',
    'response.audio.done': 'silent',
    'response.audio.transcript.delta': 'silent',
    'response.audio.transcript.done': 'silent',
    'response.web_search_call.in_progress': 'silent',
    'response.web_search_call.searching': 'silent',
    'response.web_search_call.completed': 'silent',
    'response.file_search_call.in_progress': 'silent',
    'response.file_search_call.searching': 'silent',
    'response.file_search_call.completed': 'silent',
    'response.code_interpreter_call.in_progress': 'silent',
    'response.code_interpreter_call.interpreting': 'silent',
    'response.code_interpreter_call.completed': 'silent',
    'response.code_interpreter_call_code.delta': 'silent',
    'response.code_interpreter_call_code.done': 'silent',
    'response.image_generation_call.in_progress': 'silent',
    'response.image_generation_call.generating': 'silent',
    'response.image_generation_call.partial_image': 'silent',
    'response.image_generation_call.completed': 'silent',
    'response.mcp_call.in_progress': 'silent',
    'response.mcp_call.completed': 'silent',
    'response.mcp_call.failed': 'silent',
    'response.mcp_call_arguments.delta': 'silent',
    'response.mcp_call_arguments.done': 'silent',
    'response.mcp_list_tools.in_progress': 'silent',
    'response.mcp_list_tools.completed': 'silent',
    'response.mcp_list_tools.failed': 'silent',
    'response.shell_call_command.added': 'silent',
    'response.shell_call_command.delta': 'silent',
    'response.shell_call_command.done': 'silent',
    'response.shell_call_output_content.delta': 'silent',
    'response.shell_call_output_content.done': 'silent',
  }

  it.each(Object.entries(events))('of the responses dialect: an event %s is %s', (type, reading) => {
    const stream = pair('chat', 'responses', { stream: true }).answer.stream()
    const data = { type, output_index: 0, delta: 'a', item: { type: 'function_call', call_id: 'c1', name: 'read' } }
    const out = stream.push({ event: type, data: JSON.stringify(data) })
    expect(out.length > 0 ? 'read' : 'silent').toBe(reading)
  })

  /** `fails`: only the client could carry the call out, and its dialect does not have it. */
  const outputs: Readonly<Record<ResponseOutputItem['type'], 'carried' | 'dropped' | 'fails'>> = {
    message: 'carried',
    reasoning: 'carried',
    function_call: 'carried',
    custom_tool_call: 'carried',
    web_search_call: 'carried',
    file_search_call: 'dropped',
    code_interpreter_call: 'dropped',
    image_generation_call: 'dropped',
    mcp_call: 'dropped',
    mcp_list_tools: 'dropped',
    mcp_approval_response: 'dropped',
    compaction: 'dropped',
    additional_tools: 'dropped',
    program: 'dropped',
    program_output: 'dropped',
    tool_search_output: 'dropped',
    function_call_output: 'dropped',
    custom_tool_call_output: 'dropped',
    computer_call_output: 'dropped',
    local_shell_call_output: 'dropped',
    shell_call_output: 'dropped',
    apply_patch_call_output: 'dropped',
    computer_call: 'fails',
    local_shell_call: 'fails',
    shell_call: 'fails',
    apply_patch_call: 'fails',
    tool_search_call: 'fails',
    mcp_approval_request: 'fails',
  }

  it.each(Object.entries(outputs))('of the responses dialect: an item of type %s %s', (type, fate) => {
    const item = { type, id: 'x', call_id: 'c1', name: 'read' }
    const made = pair('messages', 'responses').answer.whole({ object: 'response', status: 'completed', output: [item] })
    expect('failed' in made).toBe(fate === 'fails')
  })

  const deltas: Readonly<Record<BetaRawContentBlockDelta['type'], Reading>> = {
    text_delta: 'read',
    input_json_delta: 'silent',
    thinking_delta: 'silent',
    signature_delta: 'silent',
    citations_delta: 'silent',
    compaction_delta: 'silent',
  }

  it.each(Object.entries(deltas))('of the messages dialect: a delta %s of a text is %s', (type, reading) => {
    const stream = pair('responses', 'messages', { stream: true }).answer.stream()
    const push = (event: { readonly type: BetaRawMessageStreamEvent['type'] } & Json) =>
      stream.push({ event: event.type, data: JSON.stringify(event) })
    push({ type: 'message_start', message: { usage: {} } })
    push({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } })
    const out = push({ type: 'content_block_delta', index: 0, delta: { type, text: 'a' } })
    expect(parsed(out).length > 0 ? 'read' : 'silent').toBe(reading)
  })
})
