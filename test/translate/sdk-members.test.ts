/**
 * Every member of a request and of a tool, by the types of the vendors' SDKs: a new member does not compile until it is
 * decided here what becomes of it in a translation. What would change the answer is carried or refused. The members
 * that every answer has are checked in the same way.
 */
import type { BetaTool, MessageCreateParamsBase } from '@anthropic-ai/sdk/resources/beta/messages/messages'
import type { Message, Usage } from '@anthropic-ai/sdk/resources/messages/messages'
import type {
  ChatCompletion,
  ChatCompletionAssistantMessageParam,
  ChatCompletionCreateParamsBase,
  ChatCompletionDeveloperMessageParam,
  ChatCompletionUserMessageParam,
} from 'openai/resources/chat/completions/completions'
import type {
  CustomTool,
  FunctionTool,
  NamespaceTool,
  Response as ModelResponse,
  ResponseCreateParamsBase,
} from 'openai/resources/responses/responses'
import type { FunctionDefinition, Reasoning } from 'openai/resources/shared'
import { describe, expect, it } from 'vitest'
import { DEFAULT_CAPS } from '../../src/gateway/dialects/caps.ts'
import type { Dialect } from '../../src/gateway/dialects/dialect.ts'
import { readObject } from '../../src/gateway/dialects/json/read-json.ts'
import type { Json } from '../../src/gateway/dialects/json/read-json.ts'
import { PAIRS, pair, refusalOf } from './pairs.ts'

/** `carried`: to at least one other dialect. `dropped`: it decides only cost, speed or what the vendor stores. */
type Fate = 'carried' | 'dropped' | 'refused'

/** A member that is given, and what the request must have besides. */
type Case = readonly [fate: Fate, value: unknown, besides?: Json]

/** The members that no request lacks, and those that say how the answer is sent. */
type Always = 'model' | 'messages' | 'input' | 'stream'

type Cases<Params> = Readonly<Record<Exclude<keyof Params, Always>, Case>>

const CAPS = {
  chat: { ...DEFAULT_CAPS.chat, vendorHints: true, strictTools: true, topK: true },
  responses: DEFAULT_CAPS.responses,
  messages: { ...DEFAULT_CAPS.messages, thinking: 'adaptive', sampling: true, strictTools: true },
} as const

const fateOf = (client: Dialect, body: Json, plain: Json): Fate => {
  const fates = PAIRS.filter((one) => one.client === client).map(({ backend }): Fate => {
    const options = { caps: CAPS[backend] }
    if (refusalOf(client, backend, body, options) !== null) return 'refused'
    const [changed, unchanged] = [body, plain].map((one) => JSON.stringify(pair(client, backend, one, options).request))
    return changed === unchanged ? 'dropped' : 'carried'
  })
  if (fates.includes('carried')) return 'carried'
  return fates.every((fate) => fate === 'dropped') ? 'dropped' : 'refused'
}

const CLOSED = { type: 'object', additionalProperties: false }
const SCHEMA = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'], additionalProperties: false }
const CHAT_TOOLS = { tools: [{ type: 'function', function: { name: 'read' } }] }
const TOOLS = { tools: [{ type: 'function', name: 'read' }] }
const MESSAGES_TOOLS = { tools: [{ name: 'read', input_schema: SCHEMA }] }

const CHAT: Cases<ChatCompletionCreateParamsBase> = {
  audio: ['dropped', { voice: 'alloy', format: 'wav' }],
  frequency_penalty: ['refused', 1],
  function_call: ['dropped', 'auto'],
  functions: ['refused', [{ name: 'read' }]],
  logit_bias: ['refused', { 1: 2 }],
  logprobs: ['carried', true],
  max_completion_tokens: ['carried', 50],
  max_tokens: ['carried', 50],
  metadata: ['dropped', { a: 'b' }],
  modalities: ['refused', ['text', 'audio']],
  moderation: ['refused', { model: 'm' }],
  n: ['refused', 2],
  parallel_tool_calls: ['carried', false, CHAT_TOOLS],
  prediction: ['dropped', { type: 'content', content: 'a' }],
  presence_penalty: ['refused', 1],
  prompt_cache_key: ['carried', 'k'],
  prompt_cache_options: ['dropped', { mode: 'explicit' }],
  prompt_cache_retention: ['dropped', '24h'],
  reasoning_effort: ['carried', 'low'],
  response_format: ['carried', { type: 'json_schema', json_schema: { name: 'a', schema: SCHEMA } }],
  safety_identifier: ['carried', 'u'],
  seed: ['dropped', 1],
  service_tier: ['dropped', 'flex'],
  stop: ['carried', ['a']],
  store: ['dropped', true],
  stream_options: ['dropped', { include_obfuscation: false }],
  temperature: ['carried', 0.5],
  tool_choice: ['carried', 'required', CHAT_TOOLS],
  tools: ['carried', CHAT_TOOLS.tools],
  top_logprobs: ['carried', 2, { logprobs: true }],
  top_p: ['carried', 0.5],
  user: ['carried', 'u'],
  verbosity: ['carried', 'low'],
  web_search_options: ['refused', {}],
}

const RESPONSES: Cases<ResponseCreateParamsBase> = {
  access_programs: ['dropped', { cyber: 'standard' }],
  // Refused before any translation.
  background: ['dropped', true],
  // Its members choose when a background response runs.
  background_options: ['dropped', { completion_window: '2h' }],
  context_management: ['dropped', [{ type: 'compaction' }]],
  conversation: ['refused', 'conv_1'],
  image: ['dropped', { context_compression: 'disabled' }],
  include: ['carried', ['message.output_text.logprobs']],
  instructions: ['carried', 'Be brief.'],
  max_output_tokens: ['carried', 50],
  max_tool_calls: ['dropped', 1],
  metadata: ['dropped', { a: 'b' }],
  moderation: ['refused', { model: 'm' }],
  parallel_tool_calls: ['carried', false, TOOLS],
  previous_response_id: ['refused', 'resp_1'],
  prompt: ['refused', { id: 'pmpt_1' }],
  prompt_cache_key: ['carried', 'k'],
  prompt_cache_options: ['dropped', { mode: 'explicit' }],
  prompt_cache_retention: ['dropped', '24h'],
  reasoning: ['carried', { effort: 'low' }],
  safety_identifier: ['carried', 'u'],
  service_tier: ['dropped', 'flex'],
  store: ['dropped', true],
  stream_options: ['dropped', { include_obfuscation: false }],
  temperature: ['carried', 0.5],
  text: ['carried', { verbosity: 'low' }],
  tool_choice: ['carried', 'required', TOOLS],
  tools: ['carried', TOOLS.tools],
  top_logprobs: ['carried', 2],
  top_p: ['carried', 0.5],
  truncation: ['dropped', 'auto'],
  user: ['carried', 'u'],
}

const MESSAGES: Cases<MessageCreateParamsBase> = {
  // The next three are headers.
  betas: ['dropped', ['fast-mode-2026-02-01']],
  user_profile_id: ['dropped', 'u'],
  workspace_id: ['dropped', 'w'],
  billing_policy: ['refused', {}],
  cache_control: ['dropped', { type: 'ephemeral' }],
  compaction: ['refused', { type: 'summarize' }],
  container: ['refused', 'c'],
  context_management: ['dropped', {}],
  diagnostics: ['dropped', {}],
  fallback_credit_token: ['dropped', 'a'],
  fallbacks: ['refused', 'default'],
  inference_geo: ['refused', 'us'],
  max_tokens: ['carried', 50],
  mcp_servers: ['refused', [{ type: 'url', name: 'a', url: 'https://a.example' }]],
  metadata: ['carried', { user_id: 'u' }],
  output_config: ['carried', { format: { type: 'json_schema', schema: SCHEMA } }],
  output_format: ['carried', { type: 'json_schema', schema: SCHEMA }],
  service_tier: ['dropped', 'standard_only'],
  speed: ['dropped', 'fast'],
  stop_sequences: ['carried', ['a']],
  system: ['carried', 'Be brief.'],
  thinking: ['carried', { type: 'disabled' }],
  thread: ['refused', { type: 'continue', previous_message_id: 'msg_1' }],
  tool_choice: ['carried', { type: 'any' }, MESSAGES_TOOLS],
  tools: ['carried', MESSAGES_TOOLS.tools],
}

describe.each([
  ['chat', CHAT],
  ['responses', RESPONSES],
  ['messages', MESSAGES],
] as const)('requests of the %s dialect', (client, cases) => {
  it.each(Object.entries<Case>(cases))('have the member %s: %j', (name, [fate, value, besides = {}]) => {
    expect(fateOf(client, { ...besides, [name]: value }, besides)).toBe(fate)
  })
})

type MessageCases<Message> = Readonly<Record<Exclude<keyof Message, 'role' | 'content'>, Case>>

const USER_MESSAGE: MessageCases<ChatCompletionUserMessageParam> = { name: ['carried', 'ada'] }
const DEVELOPER_MESSAGE: MessageCases<ChatCompletionDeveloperMessageParam> = { name: ['carried', 'example_user'] }
const ASSISTANT_MESSAGE: MessageCases<ChatCompletionAssistantMessageParam> = {
  audio: ['refused', { id: 'audio_1' }],
  function_call: ['refused', { name: 'read', arguments: '{}' }],
  // The model would begin its answers with it.
  name: ['dropped', 'bot'],
  refusal: ['carried', 'No.'],
  tool_calls: ['carried', [{ id: 'c1', type: 'function', function: { name: 'read', arguments: '{}' } }]],
}

describe.each([
  ['user', USER_MESSAGE],
  ['developer', DEVELOPER_MESSAGE],
  ['assistant', ASSISTANT_MESSAGE],
] as const)('messages of the role %s in the chat dialect', (role, cases) => {
  it.each(Object.entries<Case>(cases))('have the member %s: %j', (name, [fate, value]) => {
    const bodyOf = (members: Json) => ({
      messages: [
        { role, content: 'hi', ...members },
        { role: 'user', content: 'hi' },
      ],
    })
    expect(fateOf('chat', bodyOf({ [name]: value }), bodyOf({}))).toBe(fate)
  })
})

const REASONING: Readonly<Record<keyof Reasoning, Case>> = {
  // It chooses among the reasoning that is in the conversation, and only its vendor can read that.
  context: ['dropped', 'all_turns'],
  effort: ['carried', 'low'],
  // It costs more and takes longer for better answers. No other dialect has it.
  mode: ['dropped', 'pro'],
  generate_summary: ['carried', 'auto'],
  summary: ['carried', 'auto'],
}

it.each(Object.entries<Case>(REASONING))('the reasoning of the responses dialect has %s: %j', (name, [fate, value]) => {
  expect(fateOf('responses', { reasoning: { [name]: value } }, { reasoning: {} })).toBe(fate)
})

type ToolCases<Tool> = Readonly<Record<Exclude<keyof Tool, 'type' | 'name'>, readonly [Fate, unknown]>>

const CHAT_FUNCTION: ToolCases<FunctionDefinition> = {
  description: ['carried', 'Reads.'],
  parameters: ['carried', SCHEMA],
  strict: ['carried', true],
}

const FUNCTION: ToolCases<FunctionTool> = {
  allowed_callers: ['dropped', ['direct']],
  async: ['refused', true],
  // Only with a search of tools, which is refused.
  defer_loading: ['dropped', true],
  description: ['carried', 'Reads.'],
  output_schema: ['dropped', SCHEMA],
  parameters: ['carried', SCHEMA],
  strict: ['carried', true],
}

const CUSTOM: ToolCases<CustomTool> = {
  allowed_callers: ['dropped', ['direct']],
  async: ['refused', true],
  defer_loading: ['dropped', true],
  description: ['carried', 'Reads.'],
  format: ['carried', { type: 'grammar', syntax: 'lark', definition: 'start: "x"' }],
}

const NAMESPACE: ToolCases<NamespaceTool> = {
  description: ['carried', 'Files of the team.'],
  tools: ['carried', TOOLS.tools],
}

const MESSAGES_TOOL: ToolCases<BetaTool> = {
  allowed_callers: ['dropped', ['direct']],
  cache_control: ['dropped', { type: 'ephemeral' }],
  defer_loading: ['carried', true],
  description: ['carried', 'Reads.'],
  eager_input_streaming: ['dropped', true],
  input_examples: ['carried', [{ a: 'b' }]],
  input_schema: ['carried', SCHEMA],
  strict: ['carried', true],
}

describe.each<[name: string, Dialect, (members: Json) => Json, Readonly<Record<string, readonly [Fate, unknown]>>]>([
  ['functions of the chat dialect', 'chat', (own) => ({ type: 'function', function: own }), CHAT_FUNCTION],
  ['functions of the responses dialect', 'responses', (own) => ({ type: 'function', ...own }), FUNCTION],
  ['custom tools of the responses dialect', 'responses', (own) => ({ type: 'custom', ...own }), CUSTOM],
  ['namespaces of the responses dialect', 'responses', (own) => ({ type: 'namespace', ...own }), NAMESPACE],
  ['tools of the messages dialect', 'messages', (own) => ({ input_schema: CLOSED, ...own }), MESSAGES_TOOL],
])('%s', (_name, client, toTool, cases) => {
  it.each(Object.entries(cases))('have the member %s: %j', (name, [fate, value]) => {
    const [plain, changed] = [{ name: 'read' }, { name: 'read', [name]: value }]
    expect(fateOf(client, { tools: [toTool(changed)] }, { tools: [toTool(plain)] })).toBe(fate)
  })
})

type RequiredOf<Answer> = { [Name in keyof Answer]-?: undefined extends Answer[Name] ? never : Name }[keyof Answer]
type Members<Answer> = Readonly<Record<RequiredOf<Answer>, true>>

const COMPLETION: Members<ChatCompletion> = { id: true, choices: true, created: true, model: true, object: true }

/** The SDK itself adds `output_text`. */
const RESPONSE: Members<Omit<ModelResponse, 'output_text'>> = {
  id: true,
  access_programs: true,
  created_at: true,
  error: true,
  incomplete_details: true,
  instructions: true,
  metadata: true,
  model: true,
  object: true,
  output: true,
  parallel_tool_calls: true,
  temperature: true,
  tool_choice: true,
  tools: true,
  top_p: true,
}

const MESSAGE: Members<Message> = {
  id: true,
  container: true,
  content: true,
  diagnostics: true,
  model: true,
  role: true,
  stop_details: true,
  stop_reason: true,
  stop_sequence: true,
  type: true,
  usage: true,
}

const MESSAGE_USAGE: Members<Usage> = {
  cache_creation: true,
  cache_creation_input_tokens: true,
  cache_read_input_tokens: true,
  inference_geo: true,
  input_tokens: true,
  output_tokens: true,
  output_tokens_details: true,
  server_tool_use: true,
  service_tier: true,
  speed: true,
}

describe('a translated answer has every member that its type requires', () => {
  const whole = (client: Dialect): Json => {
    const backend = client === 'chat' ? 'messages' : 'chat'
    const answers = {
      chat: { choices: [{ message: { content: 'Hello' }, finish_reason: 'stop' }] },
      messages: { type: 'message', content: [{ type: 'text', text: 'Hello' }], stop_reason: 'end_turn', usage: {} },
    }
    const made = pair(client, backend).answer.whole(answers[backend])
    return 'answer' in made ? made.answer : {}
  }

  it.each<[name: string, answer: Json, members: object]>([
    ['a chat completion', whole('chat'), COMPLETION],
    ['a response', whole('responses'), RESPONSE],
    ['a message', whole('messages'), MESSAGE],
    ['the usage of a message', readObject(whole('messages').usage), MESSAGE_USAGE],
  ])('%s', (_name, answer, members) => {
    expect(Object.keys(members).filter((name) => answer[name] === undefined)).toEqual([])
  })
})
