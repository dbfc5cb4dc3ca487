import type { ModelCaps } from './caps.ts'
import type { Failure } from './failures/failure.ts'

/** A part of a request that some backends refuse, although the request can be sent without it. */
export type RefusedPart = {
  /** How the message of an error refuses it. */
  readonly error: RegExp
  /** With these, the request is prepared without the part. */
  readonly caps: Partial<ModelCaps>
  /** Whether every request for the model is refused with it. Otherwise it is a matter of one conversation. */
  readonly isOfModel: boolean
}

/** Finds the part of a request that its backend refuses; null: the error says something else. */
export function findRefusedPart(parts: readonly RefusedPart[], { message }: Failure): RefusedPart | null {
  return parts.find(({ error }) => error.test(message)) ?? null
}

/**
 * What is remembered for a model is read at the start of a message only, because an error may quote the request.
 * LiteLLM writes its own words there, and sometimes the vendor's JSON behind them. Bedrock writes words of its own too.
 */
const START =
  String.raw`^(?:litellm\.\w+: [\w ]+- )?(?:\{\s*(?:"error":\s*\{\s*)?(?:"code":\s*\d+,\s*)?"message":\s*")?` +
  '(?:the model returned the following errors: )?'

function beginsLike(words: readonly string[]): RegExp {
  return new RegExp(`${START}(?:${words.join('|')})`, 'i')
}

/** OpenAI's models that reason. opencode has one name for the token limit, whichever model it calls. */
const OLD_LIMIT_NAME: RefusedPart = {
  error: beginsLike(["unsupported parameter: 'max_tokens' is not supported with this model"]),
  caps: { limitName: 'max_completion_tokens' },
  isOfModel: true,
}

/** Mistral, and old servers. */
const NEW_LIMIT_NAME: RefusedPart = {
  error: beginsLike([
    String.raw`body\.max_completion_tokens: extra inputs are not permitted`,
    'unrecognized request argument supplied: max_completion_tokens',
  ]),
  caps: { limitName: 'max_tokens' },
  isOfModel: true,
}

/**
 * Some models cannot be told how much to reason: they cannot reason, or always do. An agent that does not know the
 * model asks for an effort in every call. OpenAI's models that cannot reason, models of xAI, Mistral, and models of
 * Anthropic, as Bedrock and GitHub Copilot say it too.
 */
const EFFORT: RefusedPart = {
  error: beginsLike([
    String.raw`unsupported parameter: 'reasoning(?:_effort|\.effort|\.summary)' is not supported with this model`,
    String.raw`unrecognized request argument supplied: reasoning(?:_effort)?\b`,
    String.raw`model \S+ does not support parameter reasoning_?effort`,
    String.raw`body\.reasoning_effort: extra inputs are not permitted`,
    'this model does not support the effort parameter',
    String.raw`output_config(?:\.effort)?: extra inputs are not permitted`,
    String.raw`output_config\.effort "\w+" was provided, but model \S+ does not support reasoning effort`,
  ]),
  caps: { efforts: [] },
  isOfModel: true,
}

/** OpenAI's models that cannot reason. Codex and translated calls ask every model for encrypted reasoning. */
const REASONING: RefusedPart = {
  error: beginsLike([
    'encrypted content is not supported with this model',
    'reasoning input items can only be provided to a reasoning',
  ]),
  caps: { reasoningReplay: 'refused' },
  isOfModel: true,
}

/**
 * Only the account that wrote reasoning can read it. After a change of account, or behind a load balancer with several
 * accounts, the vendor refuses the whole request, and Codex sends the same request for the rest of the session. OpenAI
 * and xAI.
 */
const REASONING_OF_OTHERS: RefusedPart = {
  error: /\bencrypted content .*could not be verified|^could not decrypt the provided encrypted_content/i,
  caps: { reasoningReplay: 'unreadable' },
  isOfModel: false,
}

/** Mistral. Claude Code and Codex name their user in every call. */
const USER: RefusedPart = {
  error: beginsLike([String.raw`body\.(?:user|safety_identifier): extra inputs are not permitted`]),
  caps: { userHint: false },
  isOfModel: true,
}

/** How Google refuses a member, also behind gateways that pass the requests of other dialects on to it. */
function toUnknownToGoogle(member: string): string {
  return String.raw`invalid json payload received\. unknown name \\?"${member}`
}

/** Mistral, old deployments of Azure, and Gemini at Databricks. */
const STREAM_USAGE: RefusedPart = {
  error: beginsLike([
    String.raw`body\.stream_options: extra inputs are not permitted`,
    'unrecognized request argument supplied: stream_options',
    "unknown parameter: 'stream_options'",
    toUnknownToGoogle(String.raw`stream_options\\?" at `),
  ]),
  caps: { streamUsage: false },
  isOfModel: true,
}

/** Mistral. */
const LOOSE_HISTORY: RefusedPart = {
  error: beginsLike([String.raw`tool call id was \S+ but must be a-z`, "unexpected role 'user' after role 'tool'"]),
  caps: { strictHistory: true },
  isOfModel: true,
}

/** Mistral, which continues a last message of the assistant only with a member of its own. */
const PREFILL: RefusedPart = {
  error: beginsLike(['expected last role user or tool']),
  caps: { prefill: false },
  isOfModel: true,
}

/** Cloudflare and xAI. A message that only has calls usually has null as its content. */
const LOOSE_CONTENT: RefusedPart = {
  error: beginsLike([
    String.raw`aierror: bad input: error: (?:one|any)of at '/' not met.*'/messages/\d+(?:/content)?'`,
    'invalid request content: each message must have at least one content element',
  ]),
  caps: { strictContent: true },
  isOfModel: true,
}

/** Groq, Cerebras and Mistral. Many agents send earlier reasoning back, also that of another model. */
const SHOWN_REASONING: RefusedPart = {
  error: beginsLike([
    String.raw`'messages\.\d+' : for 'role: ?assistant' [^:]+: property 'reasoning(?:_content)?' is unsupported`,
    String.raw`messages\.\d+\.assistant\.reasoning(?:_content)?: property \S+ is unsupported`,
    String.raw`body\.messages\.\d+\.assistant\.reasoning(?:_content)?: extra inputs are not permitted`,
  ]),
  caps: { reasoningReplay: 'refused' },
  isOfModel: true,
}

/** DeepSeek, which accepts only JSON without a schema. Agents send a schema with calls such as those for titles. */
const FORMAT_SCHEMAS: RefusedPart = {
  error: beginsLike([
    'this response_format type is unavailable now',
    String.raw`(?:failed to deserialize [^:]*: response_format: )?response_format\.type .json_schema. is unavailable`,
  ]),
  caps: { formatSchemas: false },
  isOfModel: true,
}

/** Gemini, where another model has written a call, or the client does not send its signature back. */
const UNSIGNED_CALLS: RefusedPart = {
  error: beginsLike([
    String.raw`(?:unable to submit request because )?function call (?:\S+ in the \S+ content block )?` +
      'is missing a .?thought_signature',
  ]),
  caps: { unsignedCalls: false },
  isOfModel: true,
}

/** DeepSeek and Moonshot, where another model has written a call, or the client does not send its reasoning back. */
const MISSING_REASONING: RefusedPart = {
  error: beginsLike([
    String.raw`the .?(?:reasoning_content|content\[\]\.thinking).? in the thinking mode must be passed back`,
    'if thinking mode and tool_calls, .?reasoning_content.? must be passed back',
    'missing (?:.?reasoning_content.? field|thinking block) in the assistant message',
    'thinking is enabled but reasoning_content is missing in assistant tool call message',
    'messages with tool_calls must include reasoning_content',
  ]),
  caps: { reasoningReplay: 'required' },
  isOfModel: true,
}

/** OpenAI. Codex and Claude Code ask every model to show its reasoning. */
const SUMMARIES: RefusedPart = {
  error: beginsLike(['your organization must be verified to generate reasoning summaries']),
  caps: { reasoningSummaries: false },
  isOfModel: true,
}

/**
 * llama.cpp and LM Studio (ggml-org/llama.cpp#25923), Gemini, Moonshot. One tool of an agent is enough, and each agent
 * has some.
 */
const SCHEMA_LIMITS: RefusedPart = {
  error: beginsLike([
    '(?:failed to initialize samplers: )?failed to parse grammar',
    String.raw`(?:unable to generate parser [^:]*: )?json schema conversion failed`,
    toUnknownToGoogle(String.raw`[^"]+" at '(?:request\.)?tools\[`),
    '(?:invalid request: )?tools.function.parameters is not a valid moonshot flavored json schema, details: ' +
      "<at path '[^']*': when using anyof",
  ]),
  caps: { schemaLimits: false },
  isOfModel: true,
}

/**
 * Bedrock, which does not say which beta it refuses. Claude Code names several in every call. Another client may name
 * only betas that the model has, so nothing is remembered.
 */
const BETAS: RefusedPart = { error: beginsLike(['invalid beta flag']), caps: { betas: false }, isOfModel: false }

export const CHAT_REFUSED_PARTS = [
  OLD_LIMIT_NAME,
  NEW_LIMIT_NAME,
  EFFORT,
  USER,
  STREAM_USAGE,
  MISSING_REASONING,
  SHOWN_REASONING,
  UNSIGNED_CALLS,
  LOOSE_HISTORY,
  LOOSE_CONTENT,
  PREFILL,
  SCHEMA_LIMITS,
  FORMAT_SCHEMAS,
]
export const RESPONSES_REFUSED_PARTS = [EFFORT, SUMMARIES, REASONING, REASONING_OF_OTHERS, SCHEMA_LIMITS]
export const MESSAGES_REFUSED_PARTS = [MISSING_REASONING, SCHEMA_LIMITS, EFFORT, BETAS]
