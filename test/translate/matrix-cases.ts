/**
 * The cases of the translation matrix: what a client of each dialect asks, and what a backend of each dialect answers.
 * The vendors' own types check the spelling.
 */
import type { Message, MessageCreateParams } from '@anthropic-ai/sdk/resources/messages'
import type { ChatCompletion, ChatCompletionCreateParams } from 'openai/resources/chat/completions'
import type { Response, ResponseCreateParams } from 'openai/resources/responses/responses'
import type { Dialect } from '../../src/gateway/dialects/dialect.ts'
import type { Json } from '../../src/gateway/dialects/json/read-json.ts'

type Requests = {
  readonly chat: Pick<ChatCompletionCreateParams, 'messages' | 'tools'>
  readonly responses: Pick<ResponseCreateParams, 'input' | 'instructions' | 'tools' | 'include'>
  readonly messages: Pick<MessageCreateParams, 'messages' | 'system' | 'tools'>
}
type Answers = {
  readonly chat: Pick<ChatCompletion, 'choices' | 'usage'>
  readonly responses: Required<Pick<Response, 'status' | 'output' | 'incomplete_details' | 'usage'>>
  readonly messages: Pick<Message, 'content' | 'stop_reason'>
}

/** `fails`: the backend answers with an error instead; in a stream, after the first part of the answer. */
export type Case = { readonly requests: Requests; readonly answers: Answers; readonly fails?: true }

const PNG = 'iVBORw0KGgo='
const PDF = 'JVBERi0xLjcK'
const IMAGE_URL = `data:image/png;base64,${PNG}`
const PARAMETERS = { type: 'object' as const, properties: { path: { type: 'string' } }, required: ['path'] }

const CHAT_TOOLS = [{ type: 'function' as const, function: { name: 'read', parameters: PARAMETERS } }]
const RESPONSES_TOOLS = [{ type: 'function' as const, name: 'read', parameters: PARAMETERS, strict: false }]
const MESSAGES_TOOLS = [{ name: 'read', input_schema: PARAMETERS }]

// ---- parts of answers

const CHAT_USAGE = { prompt_tokens: 100, completion_tokens: 9, total_tokens: 109 }
const RESPONSES_USAGE: Answers['responses']['usage'] = {
  input_tokens: 100,
  input_tokens_details: { cached_tokens: 60, cache_write_tokens: 0 },
  output_tokens: 9,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 109,
}

type Choice = ChatCompletion['choices'][number]

function completion(message: Partial<Choice['message']>, finish_reason: Choice['finish_reason']): Answers['chat'] {
  const said = { role: 'assistant' as const, content: null, refusal: null, ...message }
  return { choices: [{ index: 0, message: said, logprobs: null, finish_reason }], usage: CHAT_USAGE }
}

function response(output: Response['output'], more: Partial<Answers['responses']> = {}): Answers['responses'] {
  return { status: 'completed', output, incomplete_details: null, usage: RESPONSES_USAGE, ...more }
}

const says = (text: string, status: 'completed' | 'incomplete' = 'completed'): Response['output'][number] => ({
  type: 'message',
  id: 'msg_1',
  role: 'assistant',
  status,
  content: [{ type: 'output_text', text, annotations: [], logprobs: [] }],
})
const block = (text: string): Message['content'][number] => ({ type: 'text', text, citations: null })

/** The answer that is only a text. */
const SAYS_YES: Answers = {
  chat: completion({ content: 'Yes, I see.' }, 'stop'),
  responses: response([says('Yes, I see.')]),
  messages: { content: [block('Yes, I see.')], stop_reason: 'end_turn' },
}

// ---- requests

const asks = (content: string): Requests => ({
  chat: { messages: [{ role: 'user', content }] },
  responses: { input: content },
  messages: { messages: [{ role: 'user', content }] },
})

const withTools = (requests: Requests): Requests => ({
  chat: { ...requests.chat, tools: CHAT_TOOLS },
  responses: { ...requests.responses, tools: RESPONSES_TOOLS },
  messages: { ...requests.messages, tools: MESSAGES_TOOLS },
})

const CALLS: Answers = {
  chat: completion(
    {
      content: 'Two at once.',
      tool_calls: [
        { id: 'call_1', type: 'function', function: { name: 'read', arguments: '{"path":"a"}' } },
        { id: 'call_2', type: 'function', function: { name: 'read', arguments: '{"path":"b"}' } },
      ],
    },
    'tool_calls',
  ),
  responses: response([
    says('Two at once.'),
    {
      type: 'function_call',
      id: 'fc_1',
      call_id: 'call_1',
      name: 'read',
      arguments: '{"path":"a"}',
      status: 'completed',
    },
    {
      type: 'function_call',
      id: 'fc_2',
      call_id: 'call_2',
      name: 'read',
      arguments: '{"path":"b"}',
      status: 'completed',
    },
  ]),
  messages: {
    content: [
      block('Two at once.'),
      { type: 'tool_use', id: 'call_1', name: 'read', input: { path: 'a' }, caller: { type: 'direct' } },
      { type: 'tool_use', id: 'call_2', name: 'read', input: { path: 'b' }, caller: { type: 'direct' } },
    ],
    stop_reason: 'tool_use',
  },
}

/** Reasoning, as each vendor has it. */
export const THINKS: Answers = {
  // A member of vendors that is not in the type of the package.
  chat: completion({ content: 'Yes.', ...{ reasoning_content: 'Hm, so it is.' } }, 'stop'),
  responses: response([
    {
      type: 'reasoning',
      id: 'rs_1',
      summary: [{ type: 'summary_text', text: 'Hm, so it is.' }],
      encrypted_content: 'gAAA',
    },
    says('Yes.'),
  ]),
  messages: {
    content: [{ type: 'thinking', thinking: 'Hm, so it is.', signature: 'EqQB' }, block('Yes.')],
    stop_reason: 'end_turn',
  },
}

export const CASES: Readonly<Record<string, Case>> = {
  text: { requests: asks('Do you see?'), answers: SAYS_YES },
  images: {
    requests: {
      chat: {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'See' },
              { type: 'image_url', image_url: { url: IMAGE_URL } },
            ],
          },
        ],
      },
      responses: {
        input: [
          {
            role: 'user',
            content: [
              { type: 'input_text', text: 'See' },
              { type: 'input_image', image_url: IMAGE_URL, detail: 'auto' },
            ],
          },
        ],
      },
      messages: {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'See' },
              { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } },
            ],
          },
        ],
      },
    },
    answers: SAYS_YES,
  },
  documents: {
    requests: {
      chat: {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'file', file: { file_data: `data:application/pdf;base64,${PDF}`, filename: 'a.pdf' } },
              { type: 'text', text: 'Read' },
            ],
          },
        ],
      },
      responses: {
        input: [
          {
            role: 'user',
            content: [
              { type: 'input_file', file_data: `data:application/pdf;base64,${PDF}`, filename: 'a.pdf' },
              { type: 'input_text', text: 'Read' },
            ],
          },
        ],
      },
      messages: {
        messages: [
          {
            role: 'user',
            content: [
              {
                type: 'document',
                title: 'a.pdf',
                source: { type: 'base64', media_type: 'application/pdf', data: PDF },
              },
              { type: 'text', text: 'Read' },
            ],
          },
        ],
      },
    },
    answers: SAYS_YES,
  },
  'parallel tools': { requests: withTools(asks('Read both.')), answers: CALLS },
  'tool results with images': {
    requests: withTools({
      chat: {
        messages: [
          { role: 'user', content: 'Show me.' },
          {
            role: 'assistant',
            tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'read', arguments: '{"path":"a"}' } }],
          },
          { role: 'tool', tool_call_id: 'call_1', content: 'The image follows.' },
          { role: 'user', content: [{ type: 'image_url', image_url: { url: IMAGE_URL } }] },
        ],
      },
      responses: {
        input: [
          { role: 'user', content: 'Show me.' },
          { type: 'function_call', call_id: 'call_1', name: 'read', arguments: '{"path":"a"}' },
          {
            type: 'function_call_output',
            call_id: 'call_1',
            output: [{ type: 'input_image', image_url: IMAGE_URL, detail: 'auto' }],
          },
        ],
      },
      messages: {
        messages: [
          { role: 'user', content: 'Show me.' },
          { role: 'assistant', content: [{ type: 'tool_use', id: 'call_1', name: 'read', input: { path: 'a' } }] },
          {
            role: 'user',
            content: [
              {
                type: 'tool_result',
                tool_use_id: 'call_1',
                content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } }],
              },
            ],
          },
        ],
      },
    }),
    answers: SAYS_YES,
  },
  reasoning: {
    requests: {
      ...asks('Is it so?'),
      responses: { input: 'Is it so?', include: ['reasoning.encrypted_content'] },
    },
    answers: THINKS,
  },
  refusal: {
    requests: asks('Do harm.'),
    answers: {
      chat: completion({ refusal: 'I will not.' }, 'stop'),
      responses: response([
        {
          type: 'message',
          id: 'msg_1',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'refusal', refusal: 'I will not.' }],
        },
      ]),
      messages: { content: [block('I will not.')], stop_reason: 'refusal' },
    },
  },
  cut: {
    requests: asks('Tell all.'),
    answers: {
      chat: completion({ content: 'It begins' }, 'length'),
      responses: response([says('It begins', 'incomplete')], {
        status: 'incomplete',
        incomplete_details: { reason: 'max_output_tokens' },
      }),
      messages: { content: [block('It begins')], stop_reason: 'max_tokens' },
    },
  },
  error: { requests: asks('Do you see?'), answers: SAYS_YES, fails: true },
  'cache marks': {
    requests: {
      chat: {
        messages: [
          { role: 'system', content: 'Be brief.' },
          {
            role: 'user',
            content: [
              { type: 'text', text: 'Go on.', ...{ prompt_cache_breakpoint: { mode: 'explicit', ttl: '12h' } } },
            ],
          },
        ],
      },
      responses: {
        instructions: 'Be brief.',
        input: [
          {
            role: 'user',
            content: [
              { type: 'input_text', text: 'Go on.', ...{ prompt_cache_breakpoint: { mode: 'explicit', ttl: '12h' } } },
            ],
          },
        ],
      },
      messages: {
        system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
        messages: [
          {
            role: 'user',
            content: [{ type: 'text', text: 'Go on.', cache_control: { type: 'ephemeral', ttl: '1h' } }],
          },
        ],
      },
    },
    answers: SAYS_YES,
  },
}

/** The error of a vendor that has too many requests, as the body of an answer and as the event of a stream. */
export const ERRORS: Readonly<Record<Dialect, { readonly status: number; readonly body: Json }>> = {
  chat: { status: 429, body: { error: { message: 'Too many.', type: 'requests', code: 'rate_limit_exceeded' } } },
  responses: { status: 429, body: { error: { message: 'Too many.', type: 'requests', code: 'rate_limit_exceeded' } } },
  messages: { status: 529, body: { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } } },
}
