import { expect, it } from 'vitest'
import { DIALECTS } from '../../src/gateway/dialects/dialects.ts'
import { readFailure } from '../../src/gateway/dialects/failures/failure.ts'
import { readRetryTime } from '../../src/gateway/dialects/failures/retry-time.ts'

const failure = (message: string) => readFailure({ error: { message } })

it.each([
  [400, 'invalid_request_error'],
  [402, 'billing_error'],
  [403, 'permission_error'],
  [404, 'not_found_error'],
  [413, 'request_too_large'],
  [418, 'invalid_request_error'],
  [429, 'rate_limit_error'],
  [500, 'api_error'],
  [503, 'overloaded_error'],
  [504, 'timeout_error'],
  [529, 'overloaded_error'],
])('an engine’s status %i and its words are kept, with the type %s', (status, type) => {
  expect(DIALECTS.messages.errorAnswer(status, failure('odd'))).toEqual({
    status,
    body: { type: 'error', error: { type, message: 'odd' } },
  })
  expect(DIALECTS.responses.errorAnswer(status, failure('odd'))).toEqual({
    status,
    body: { error: { message: 'odd', type, param: null, code: null } },
  })
})

it('further members of an error stay, but for those that the dialect decides by', () => {
  const own = { type: 'BadRequestError', code: 'odd_code', message: ['odd'], detail: 1 }
  expect(DIALECTS.chat.errorAnswer(400, failure('odd'), own).body).toEqual({
    error: { ...own, message: 'odd', param: null },
  })
  expect(DIALECTS.messages.errorAnswer(400, failure('odd'), own).body).toEqual({
    type: 'error',
    error: { ...own, type: 'invalid_request_error', message: 'odd' },
  })
})

it('an image that the model cannot read is a 400, whatever status the engine gives', () => {
  const message = 'image input is not supported - hint'
  expect(DIALECTS.messages.errorAnswer(500, failure(message))).toMatchObject({
    status: 400,
    body: { error: { type: 'invalid_request_error', message } },
  })
  expect(DIALECTS.chat.errorAnswer(500, failure('the image broke')).status).toBe(500)
})

it.each([400, 413, 500])('a prompt that is too long is a 400 in the words of each dialect, not %i', (status) => {
  const tooLong = readFailure({ error: { code: 'context_length_exceeded', message: 'n_ctx' } })
  expect(DIALECTS.messages.errorAnswer(status, tooLong)).toEqual({
    status: 400,
    body: { type: 'error', error: { type: 'invalid_request_error', message: 'prompt is too long: n_ctx' } },
  })
  expect(DIALECTS.responses.errorAnswer(status, tooLong)).toMatchObject({
    status: 400,
    body: { error: { code: 'context_length_exceeded' } },
  })
})

it.each([
  ['an object with an error', { error: { message: 'odd' } }, ['chat', 'responses']],
  ['one of type error', { type: 'error', error: { type: 'a', message: 'odd' } }, ['chat', 'responses', 'messages']],
  ['one whose error has no type', { type: 'error', error: { message: 'odd' } }, ['chat', 'responses']],
  ['an error without a message', { type: 'error', error: { type: 'a', message: null } }, []],
  ['an object of type error without an error', { type: 'error' }, []],
  ['an error that is a text', { type: 'error', error: 'x' }, []],
  ['a text', 'error', []],
  ['nothing', null, []],
])('%s is an error body in these dialects: %j %j', (_name, body, expected) => {
  const found = Object.entries(DIALECTS).filter(([, { isErrorBody }]) => isErrorBody(body))
  expect(found.map(([dialect]) => dialect)).toEqual(expected)
})

it.each([
  ['insufficient_quota', 'quota'],
  ['billing_error', 'quota'],
  ['billing_hard_limit_reached', 'quota'],
  ['linked_organization_billing_unavailable', 'quota'],
  ['exceeded_current_quota_error', 'quota'],
  ['Arrearage', 'quota'],
  ['PostpaidBillOverdue', 'quota'],
  ['rate_limit_error', 'rateLimit'],
  ['ThrottlingException', 'rateLimit'],
  ['overloaded_error', 'overloaded'],
  ['slow_down', 'overloaded'],
  ['request_too_large', 'tooLarge'],
  ['authentication_error', 'account'],
  ['permission_error', 'account'],
  ['invalid_api_key', 'account'],
  ['unauthorized', 'account'],
  ['organization_on_hold', 'account'],
  ['cmek_key_disabled', 'account'],
  ['not_found_error', 'notFound'],
  ['content_filter', 'filter'],
  ['content_policy_violation', 'filter'],
  ['invalid_prompt', 'filter'],
  ['bio_policy', 'filter'],
  ['misalignment_policy_violation', 'filter'],
  ['image_content_policy_violation', 'filter'],
  ['image_file_not_found', 'invalid'],
  ['failed_to_download_image', 'invalid'],
  ['timeout_error', 'timeout'],
  ['invalid_request_error', 'invalid'],
])('an error of the type or the code %s is of the kind %s, whatever its status', (name, kind) => {
  expect(readFailure({ error: { type: name, message: 'odd' } }, 500).kind).toBe(kind)
  expect(readFailure({ error: { code: name, message: 'odd' } }, 500).kind).toBe(kind)
})

it.each([
  [429, { code: '1113', message: 'Insufficient balance or no resource package. Please recharge.' }],
  [402, { code: 'invalid_request_error', message: 'Insufficient Balance' }],
  [412, { message: 'Account team-1 is suspended, possibly due to reaching the monthly spending limit.' }],
  [412, 'Account is suspended, possibly due to reaching the monthly spending limit or failure to pay past invoices'],
])('an account that is used up is told apart by the words of its vendor: %i %j', (status, error) => {
  expect(readFailure({ error }, status).kind).toBe('quota')
})

it.each([
  [{ code: 'model_not_found', message: 'odd' }],
  [{ type: 'invalid_model', code: '1500', message: 'Invalid model: large' }],
  [{ code: 'model_not_available', message: 'Unable to access model large.' }],
  [{ code: 'model_decommissioned', message: 'The model `large` has been decommissioned.' }],
  [{ code: '1211', message: 'Unknown Model, please check the model code.' }],
  [{ type: 'invalid_request_error', code: 'invalid_request_error', message: 'Model Not Exist' }],
  [{ code: 400, message: 'vendor/large is not a valid model ID' }],
  [{ type: 'invalid_request_error', message: 'The provided model identifier is invalid.' }],
  [{ message: "The requested model 'large' does not exist" }],
  [{ message: 'Invalid model identifier "large". Please specify a valid downloaded model.' }],
  [{ code: '400', message: '/chat/completions: Invalid model name passed in model=large. Call `/v1/models`.' }],
])('a model that the vendor does not know is told apart by its words, with the status 400: %j', (error) => {
  expect(readFailure({ error }, 400).kind).toBe('notFound')
})

it('an unknown model that an error quotes does not count', () => {
  expect(readFailure({ error: { message: 'messages.0: "Model Not Exist" is no role.' } }, 400).kind).toBe('invalid')
})

it('a spend limit of an account is no rate limit, although it has the status and the type of one', () => {
  const error = { type: 'rate_limit_error', message: 'odd', details: { error_code: 'contract_spend_limit_reached' } }
  expect(readFailure({ type: 'error', error }, 429).kind).toBe('quota')
  expect(
    readFailure({ type: 'error', error: { ...error, details: { error_code: 'ramp_limit_exceeded' } } }, 429).kind,
  ).toBe('rateLimit')
})

it.each([
  [400, 'invalid'],
  [401, 'account'],
  [402, 'quota'],
  [403, 'account'],
  [404, 'notFound'],
  [408, 'timeout'],
  [413, 'tooLarge'],
  [429, 'rateLimit'],
  [499, 'invalid'],
  [500, 'failed'],
  [503, 'overloaded'],
  [504, 'timeout'],
  [529, 'overloaded'],
])('an error without a name has the kind of its status: %i is %s', (status, kind) => {
  expect(readFailure({ error: { message: 'odd' } }, status).kind).toBe(kind)
})

it.each([
  [400, 'invalid'],
  [402, 'quota'],
  [404, 'notFound'],
  [429, 'rateLimit'],
  [500, 'invalid'],
  [503, 'overloaded'],
])('an error that is only named invalid_request_error has the kind of its status, if any: %i is %s', (status, kind) => {
  const error = { message: 'odd', type: 'unknown_error', param: null, code: 'invalid_request_error' }
  expect(readFailure({ error }, status).kind).toBe(kind)
})

it.each([
  [429, 'rateLimit'],
  [400, 'invalid'],
  [503, 'overloaded'],
  [1214, 'failed'],
])('an event without a status has the kind of its code, when that is a status: %i', (code, kind) => {
  expect(readFailure({ error: { message: 'odd', code } }).kind).toBe(kind)
  expect(readFailure({ error: { message: 'odd', code } }, 504).kind).toBe('timeout')
})

it.each([
  [
    'openclaude#67: a list, as Google sends it',
    [{ error: { code: 400, message: 'The input token count (9) exceeds the maximum number of tokens allowed (8).' } }],
    { kind: 'context', message: 'The input token count (9) exceeds the maximum number of tokens allowed (8).' },
  ],
  [
    'the list of mistakes of FastAPI',
    { detail: [{ type: 'missing', loc: ['body', 'messages'], msg: 'Field required' }] },
    { kind: 'invalid', message: 'body.messages: Field required' },
  ],
  ['a list of mistakes without their places', { detail: [{ msg: 'No' }] }, { kind: 'invalid', message: 'No' }],
  [
    'openai-agents-python#442: the list of mistakes of Mistral',
    { message: { detail: [{ loc: ['body', 'user'], msg: 'Extra inputs are not permitted', input: 'u1' }] } },
    { kind: 'invalid', message: 'body.user: Extra inputs are not permitted' },
  ],
  [
    'cloudflare-docs#15116: the list of errors of Cloudflare',
    { result: null, success: false, errors: [{ code: 7009, message: 'Upstream service unavailable' }], messages: [] },
    { kind: 'invalid', message: 'Upstream service unavailable' },
  ],
  [
    'the list of errors of watsonx',
    { errors: [{ code: 'model_not_found', message: 'No such model.' }], trace: 'x', status_code: 400 },
    { kind: 'notFound', message: 'No such model.' },
  ],
  [
    'a page of a proxy or of another server',
    '\n<!DOCTYPE html><title>404 Not Found</title>',
    { kind: 'invalid', message: 'The backend answered with a web page.' },
  ],
  ['a text at AWS', { Message: 'No such route' }, { kind: 'invalid', message: 'No such route' }],
  ['the detail of LiteLLM', { detail: { error: 'No such team' } }, { kind: 'invalid', message: 'No such team' }],
  ['a text', 'No <html> here', { kind: 'invalid', message: 'No <html> here' }],
  ['an empty list', [], { kind: 'invalid', message: 'The backend failed without saying why.' }],
])('the message of an error is found in %s', (_name, body, expected) => {
  expect(readFailure(body, 400)).toEqual(expected)
})

it.each([
  ['Limit 30000, Used 29937, Requested 385. Please try again in 644ms.', 1],
  ['Limit 10000, Used 8554, Requested 3082. Please try again in 9.816s. Visit our page.', 10],
  ['Rate limit reached. Please try again in 7m12.5s.', 433],
  ['Rate limit reached. Please try again in 1h2m.', 3720],
  ['You exceeded your current quota.\nPlease retry in 34.074824224s.', 35],
  ['Your requests have exceeded the rate limit. Please retry after 26 seconds.', 26],
  ['Please try again in 0s.', null],
  ['Please try again later.', null],
  ['Try again in a moment.', null],
])('reads when to repeat a call from "%s": %s', (message, seconds) => {
  expect(readRetryTime(message)).toBe(seconds)
})
