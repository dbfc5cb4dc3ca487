import { describe, expect, it } from 'vitest'
import { readFailure } from '../../src/gateway/dialects/failures/failure.ts'
import { DIALECTS } from '../../src/gateway/dialects/dialects.ts'
import { findRefusedPart } from '../../src/gateway/dialects/refused-parts.ts'

const capsAfter = (dialect: 'chat' | 'responses', error: unknown) =>
  findRefusedPart(DIALECTS[dialect].refusedParts, readFailure(error))?.caps

const of = (message: string) => ({ error: { message, type: 'invalid_request_error', param: null, code: null } })
const ofFastApi = (type: string, name: string, msg: string) => ({ detail: [{ type, loc: ['body', name], msg }] })
const EXTRA = 'Extra inputs are not permitted'
const MAX_TOKENS = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens'."
const UNKNOWN = 'Invalid JSON payload received. Unknown name'
const EFFORT = "Unsupported parameter: 'reasoning.effort' is not supported with this model."

describe('what an error says of a model', () => {
  it.each([
    ['chat', of(MAX_TOKENS), { limitName: 'max_completion_tokens' }],
    [
      'chat',
      of(`litellm.BadRequestError: AzureException BadRequestError - ${MAX_TOKENS}`),
      { limitName: 'max_completion_tokens' },
    ],
    ['chat', of('Unrecognized request argument supplied: max_completion_tokens'), { limitName: 'max_tokens' }],
    ['chat', ofFastApi('extra_forbidden', 'max_completion_tokens', EXTRA), { limitName: 'max_tokens' }],
    ['chat', of("Unsupported parameter: 'reasoning_effort' is not supported with this model."), { efforts: [] }],
    ['chat', of('Unrecognized request argument supplied: reasoning_effort'), { efforts: [] }],
    ['chat', ofFastApi('extra_forbidden', 'reasoning_effort', EXTRA), { efforts: [] }],
    [
      'chat',
      { code: 'invalid-argument', error: 'Model grok does not support parameter reasoningEffort.' },
      { efforts: [] },
    ],
    ['chat', of('Failed to initialize samplers: failed to parse grammar'), { schemaLimits: false }],
    [
      'chat',
      of(
        'Unable to generate parser for this template. Automatic parser generation failed: JSON schema conversion ' +
          "failed:\nPattern must start with '^' and end with '$'",
      ),
      { schemaLimits: false },
    ],
    ['chat', ofFastApi('extra_forbidden', 'user', EXTRA), { userHint: false }],
    ['chat', ofFastApi('extra_forbidden', 'stream_options', EXTRA), { streamUsage: false }],
    ['chat', of('Unrecognized request argument supplied: stream_options. Contact us.'), { streamUsage: false }],
    ['chat', of("Unknown parameter: 'stream_options'."), { streamUsage: false }],
    [
      'chat',
      { object: 'error', message: "Unexpected role 'user' after role 'tool'", code: '3230' },
      { strictHistory: true },
    ],
    [
      'chat',
      { object: 'error', message: 'Tool call id was turn1_0 but must be a-z, A-Z, 0-9, with a length of 9.' },
      { strictHistory: true },
    ],
    [
      'chat',
      of(
        "'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1' : property " +
          "'reasoning_content' is unsupported)]",
      ),
      { reasoningReplay: 'refused' },
    ],
    [
      'chat',
      { error: { code: 400, message: 'Function call is missing a thought_signature in functionCall parts.' } },
      { unsignedCalls: false },
    ],
    [
      'chat',
      of('Missing `reasoning_content` field in the assistant message at message index 1.'),
      { reasoningReplay: 'required' },
    ],
    [
      'chat',
      {
        message:
          "messages.2.assistant.reasoning_content: property 'messages.2.assistant.reasoning_content' is unsupported",
        type: 'invalid_request_error',
        code: 'wrong_api_format',
      },
      { reasoningReplay: 'refused' },
    ],
    [
      'chat',
      { detail: [{ loc: ['body', 'messages', 3, 'assistant', 'reasoning_content'], msg: EXTRA }] },
      { reasoningReplay: 'refused' },
    ],
    ['chat', of('This response_format type is unavailable now'), { formatSchemas: false }],
    [
      'chat',
      of(
        'Failed to deserialize the JSON body into the target type: response_format: ' +
          'response_format.type `json_schema` is unavailable now at line 1 column 12440',
      ),
      { formatSchemas: false },
    ],
    [
      'chat',
      of('Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant'),
      { prefill: false },
    ],
    [
      'chat',
      { code: 'x', error: 'Invalid request content: Each message must have at least one content element.' },
      { strictContent: true },
    ],
    [
      'chat',
      {
        errors: {
          message:
            "AiError: Bad input: Error: oneOf at '/' not met, 0 matches: required properties at '/' are 'prompt', " +
            "Type mismatch of '/messages/0/content', 'array' not in 'string' (d9e09afe)",
          code: 5006,
        },
        success: false,
      },
      { strictContent: true },
    ],
    [
      'chat',
      [{ error: { code: 400, message: `${UNKNOWN} "exclusiveMinimum" at 'tools[0].function_declarations[2]` } }],
      { schemaLimits: false },
    ],
    [
      'chat',
      of(
        'litellm.BadRequestError: GeminiException BadRequestError - ' +
          JSON.stringify({ error: { code: 400, message: `${UNKNOWN} "const" at 'tools[0].function` } }, null, 2),
      ),
      { schemaLimits: false },
    ],
    ['chat', of(`${UNKNOWN} "stream_options" at 'generation_config': Cannot find field.`), { streamUsage: false }],
    [
      'chat',
      of(
        'Invalid request: tools.function.parameters is not a valid moonshot flavored json schema, details: ' +
          "<At path 'properties.a': when using anyOf, type should be defined in anyOf items instead of the parent schema>",
      ),
      { schemaLimits: false },
    ],
    ['responses', of(EFFORT), { efforts: [] }],
    [
      'responses',
      of(`litellm.BadRequestError: OpenAIException - ${JSON.stringify(of(EFFORT), null, 2)}`),
      { efforts: [] },
    ],
    ['responses', of('Encrypted content is not supported with this model.'), { reasoningReplay: 'refused' }],
    [
      'responses',
      of('Reasoning input items can only be provided to a reasoning or computer use model.'),
      { reasoningReplay: 'refused' },
    ],
    ['responses', of('The encrypted content gAAA... could not be verified.'), { reasoningReplay: 'unreadable' }],
    [
      'responses',
      of('The encrypted content for item rs_1 could not be verified. Reason: x'),
      { reasoningReplay: 'unreadable' },
    ],
    [
      'responses',
      { error: 'Could not decrypt the provided encrypted_content. Ensure the value is unmodified.' },
      { reasoningReplay: 'unreadable' },
    ],
  ] as const)('%s, %j', (dialect, error, caps) => {
    expect(capsAfter(dialect, error)).toEqual(caps)
  })

  it.each([
    ['of the value of an effort', ofFastApi('enum', 'reasoning_effort', "Input should be 'low' or 'high'")],
    ['of the value of a limit', of('max_tokens is too large: 64.')],
    ['that quotes a request', of(`Invalid value: "${EFFORT}".`)],
    [
      'that quotes a request, behind LiteLLM',
      of(`litellm.BadRequestError: OpenAIException - Invalid value: '${EFFORT}'`),
    ],
    ['without words', {}],
  ])('is nothing in an error %s', (_, error) => {
    expect([capsAfter('chat', error), capsAfter('responses', error)]).toEqual([undefined, undefined])
  })
})
