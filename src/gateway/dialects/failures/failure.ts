import { isObject } from '../../../kernel/json.ts'
import { readCount, readList, readName, readObject, readText } from '../json/read-json.ts'
import type { Json } from '../json/read-json.ts'
import { isModelUnknown } from './missing-model.ts'

/**
 * Kinds of failures, by what a client can do:
 * - correct the request: `invalid`; `context`: the prompt is too long, so clients compact it; `tooLarge`: too many
 *   bytes; `filter`: the content is not allowed; `notFound`: no such model;
 * - call again later: `rateLimit`, `overloaded`, `timeout`;
 * - sign in again: `access`: the caller has lost the access to this service;
 * - ask the operator: `account`, `quota`: the backend refused the service's own account;
 * - nothing: `failed`: the backend failed, or its answer broke off.
 */
export type FailureKind =
  | 'invalid'
  | 'context'
  | 'tooLarge'
  | 'filter'
  | 'notFound'
  | 'rateLimit'
  | 'overloaded'
  | 'timeout'
  | 'access'
  | 'account'
  | 'quota'
  | 'failed'

export type Failure = { readonly kind: FailureKind; readonly message: string }

/** Makes a failure of the backend with a message of this gateway. */
export function backendFailed(message: string): Failure {
  return { kind: 'failed', message }
}

/**
 * The end of a message after which another try may succeed. Agents decide by the words of an error in a stream whether
 * they repeat the call. opencode and pi know these words, which are Amazon Bedrock's.
 */
export const TRY_AGAIN = 'Try your request again.'

/** Makes a failure of the answer that another try may not have. */
export function answerFailed(message: string): Failure {
  return backendFailed(`${message} ${TRY_AGAIN}`)
}

/** The failure of a stream that has an event whose data is not JSON. */
export const NOT_JSON = answerFailed('The backend sent an event that is not JSON.')

/** The failure of a stream whose last event comes first. */
export const NOT_BEGUN = answerFailed('The backend ended its answer before it began.')

/** The failure of an answer that has a call without the name of a tool. */
export const NAMELESS_CALL = answerFailed('The model called a tool without naming it.')

/** The failure of a stream that has no last event. */
export const ENDED_EARLY = answerFailed('The backend ended its answer too early.')

/**
 * Reads the failure from the body of an error answer or an error event, in any of the shapes in use. The body's code,
 * type and message decide before the status, because some servers send a wrong status. An event has none, but its code
 * is the status at vLLM, llama.cpp and OpenRouter.
 */
export function readFailure(value: unknown, status: number | null = null): Failure {
  const { body, error } = findError(value)
  const message =
    readName(error.message) ??
    readName(body.error) ??
    readWords(value) ??
    // AWS.
    readName(error.Message) ??
    readName(error.detail) ??
    // LiteLLM.
    readName(readObject(error.detail).error) ??
    readMistake(error.detail) ??
    // Mistral.
    readMistake(readObject(error.message).detail) ??
    'The backend failed without saying why.'
  const details = readText(readObject(error.details).error_code)
  const names = `${readText(error.code)} ${readText(error.type)} ${details}`
  const kind = isForbiddenPage(value, status) ? 'failed' : kindOf(names, message, status ?? readCount(error.code))
  return { kind, message: kind === 'account' ? CREDENTIAL_REFUSED : message }
}

/** Returns the members of the error in an error body, besides an `error` that is only its text. */
export function readErrorMembers(value: unknown): Json {
  return { ...findError(value).error, error: undefined }
}

function findError(value: unknown): { readonly body: Json; readonly error: Json } {
  // Google's chat completions send a list with the error in it.
  const body = readObject(Array.isArray(value) ? value[0] : value)
  // IBM sends an object with a list of errors. Cloudflare sends that, or one error in place of the list.
  return { body, error: [body.error, readList(body.errors)[0], body.errors].find(isObject) ?? body }
}

const PAGE_START = /^\s*<(?:!--|(?:!doctype html|html|head|title|meta|script|body|center|div|h\d|p)\b)/i

/** Whether an error is a page for browsers. It comes from a proxy, or from a server that is not the API. */
export function isPage(text: string): boolean {
  return PAGE_START.test(text)
}

/** A page of a proxy or a firewall says nothing about the credential. */
function isForbiddenPage(value: unknown, status: number | null): boolean {
  return status === FORBIDDEN && isPage(readText(value))
}

/** Reads an error that is only a text. */
function readWords(value: unknown): string | null {
  const words = readName(value)
  return words !== null && isPage(words) ? 'The backend answered with a web page.' : words
}

/** Reads what is wrong with a request from the list of FastAPI, of which vLLM and SGLang are made. */
function readMistake(detail: unknown): string | null {
  const { msg, loc } = readObject(readList(detail)[0])
  const message = readName(msg)
  const place = readList(loc).join('.')
  return message && place ? `${place}: ${message}` : message
}

/** Whether this is an error of older versions of vLLM, whose members are not in an `error`. */
export function isErrorObject(body: Json): boolean {
  return body.object === 'error'
}

/** Reads the failure of a whole answer that has another shape. `expected`: what the backend should have sent. */
export function readMisshapen(body: unknown, expected: string): Failure {
  return isObject(body) && (body.error !== undefined || isErrorObject(body))
    ? readFailure(body)
    : backendFailed(`The backend did not answer with a ${expected}.`)
}

/** Vendors repeat parts of the credential that they refuse, so their own text stops here. */
const CREDENTIAL_REFUSED = 'The backend of this model refused the credential of this service. Tell its operator.'

function kindOf(names: string, message: string, status: number | null): FailureKind {
  const isRateLimit = status === 429 || /rate_limit|throttl/i.test(names)
  if (CONTEXT_CODES.test(names) || (!isRateLimit && CONTEXT_EXCEEDED.test(message))) return 'context'
  if (isUnreadable(message)) return 'invalid'
  if (ACCOUNT_USED_UP.test(message)) return 'quota'
  if (ACCOUNT_DISABLED.test(message)) return 'account'
  if (isModelUnknown(names, message)) return 'notFound'
  const named = KINDS.find(([pattern]) => pattern.test(names))?.[1]
  return named ?? STATUS_KINDS.get(status ?? 0) ?? (isWrongRequest(names, status) ? 'invalid' : 'failed')
}

/**
 * Whether the caller has made a mistake, where the status has no kind of its own: `invalid_request_error` alone says
 * little, and DeepSeek also uses it for an account without funds (402).
 */
function isWrongRequest(names: string, status: number | null): boolean {
  return names.includes('invalid_request_error') || (status !== null && status >= 400 && status < 500)
}

/** OpenAI and most others, llama.cpp, GitHub Copilot, GitHub Models. */
const CONTEXT_CODES = /context_length_exceeded|exceed_context_size|max_prompt_tokens_exceeded|tokens_limit_reached/

/**
 * How servers say that a prompt is too long. A rate limit is never read like this: Bedrock says "too many tokens" of
 * tokens in a minute.
 */
const CONTEXT_EXCEEDED = new RegExp(
  [
    CONTEXT_CODES.source,
    'maximum context length',
    "exceeds? (the|this) (available |model's )?context",
    'context size has been exceeded',
    '(prompt|prompt tokens) (is )?too long',
    'input length and',
    'too many tokens',
    "longer than the model's context",
    'longer than the maximum model length',
    'reduce the length of the messages',
    'exceeds the maximum allowed (input )?length',
    'configured context size is \\d',
    'context length is only \\d',
    // TensorRT-LLM, and Hugging Face's server.
    'should not exceed max_num_tokens',
    '`inputs` (tokens \\+|must have less than)',
    // Bedrock, Google, xAI, Moonshot, MiniMax, LM Studio.
    'input is too long for requested model',
    'number of input tokens exceeds maximum length',
    'exceeds the maximum number of tokens',
    'maximum prompt length is \\d',
    'exceeded model token limit',
    'context window exceeds limit',
    'greater than the context length',
    'cannot truncate prompt with n_keep',
    'trying to keep the first \\d+ tokens',
    // Cloudflare, GitHub Copilot, Alibaba, Zhipu, Volcengine.
    'exceeded this model context window limit',
    'prompt token count of \\d+ exceeds',
    'range of input length should be',
    'prompt exceeds max length',
    'tokens in request more than max tokens allowed',
    'exceed max message tokens',
  ].join('|'),
  'i',
)

/** The message of llama.cpp, which sends it with a status of 500. */
const UNREADABLE = /\b(image|audio|video) input is not supported\b/i

function isUnreadable(message: string): boolean {
  return UNREADABLE.test(message)
}

/**
 * What vendors say of an account that is used up or disabled, with the status and the type of another error: Anthropic,
 * Zhipu, and Fireworks. Only at the start, because an error may quote the request.
 */
const ACCOUNT_USED_UP = new RegExp(
  [
    '^your credit balance is too low\\b',
    '^you have reached your specified (workspace )?api usage limits\\b',
    '^insufficient balance\\b',
    '^account (\\S+ )?is suspended, possibly due to reaching the monthly spending limit\\b',
  ].join('|'),
  'i',
)
const ACCOUNT_DISABLED = /^this organization has been disabled\b/i

/** Vendors' names of errors, in `type` or `code`. The first match decides. */
const KINDS: readonly (readonly [RegExp, FailureKind])[] = [
  [/insufficient_quota|billing_error|billing_hard_limit|spend_limit_reached|billing_unavailable/, 'quota'],
  // Moonshot and Alibaba.
  [/exceeded_current_quota|Arrearage|PostpaidBillOverdue/, 'quota'],
  [/organization_on_hold|cmek_(?:key_disabled|key_network_blocked|not_approved)/, 'account'],
  [/rate_limit|throttl/i, 'rateLimit'],
  [/overloaded|slow_down/, 'overloaded'],
  [/request_too_large/, 'tooLarge'],
  [/authentication_error|permission_error|invalid_api_key|unauthorized/, 'account'],
  [/content_filter|content_policy|bio_policy|policy_violation|invalid_prompt/, 'filter'],
  // The responses dialect has a code for each way in which an image is wrong, such as `image_file_not_found`.
  [/image/, 'invalid'],
  // Not `previous_response_not_found`.
  [/\bnot_found/, 'notFound'],
  [/timeout/, 'timeout'],
]

const FORBIDDEN = 403

const STATUS_KINDS: ReadonlyMap<number, FailureKind> = new Map([
  [401, 'account'],
  [402, 'quota'],
  [403, 'account'],
  [404, 'notFound'],
  [408, 'timeout'],
  [413, 'tooLarge'],
  [429, 'rateLimit'],
  [503, 'overloaded'],
  [504, 'timeout'],
  [529, 'overloaded'],
])

/**
 * Returns the status of an engine's error for the client: 400 where the client can correct the request, whatever the
 * engine answered. Agents shorten a prompt that is too long only after a 400, and give up after a 413.
 */
export function statusOf(status: number, { kind, message }: Failure): number {
  return kind === 'context' || isUnreadable(message) ? 400 : status
}

/** Returns the vendors' error type for a status (Anthropic API, "Errors"). */
export function typeOfStatus(status: number): string {
  return TYPES.get(status) ?? (status < 500 ? 'invalid_request_error' : 'api_error')
}

const TYPES: ReadonlyMap<number, string> = new Map([
  [401, 'authentication_error'],
  [402, 'billing_error'],
  [403, 'permission_error'],
  [404, 'not_found_error'],
  [413, 'request_too_large'],
  [429, 'rate_limit_error'],
  [503, 'overloaded_error'],
  [504, 'timeout_error'],
  [529, 'overloaded_error'],
])
