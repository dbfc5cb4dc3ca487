import { expect, it } from 'vitest'
import { toErrorAnswer } from '../../src/gateway/translate/engine-error.ts'

it.each([
  [400, 'invalid_request_error'],
  [403, 'permission_error'],
  [404, 'not_found_error'],
  [418, 'invalid_request_error'],
  [429, 'rate_limit_error'],
  [500, 'api_error'],
  [503, 'overloaded_error'],
  [529, 'overloaded_error'],
])('an engine’s %i keeps its status and its words, and is a %s', (status, type) => {
  const error = { message: 'odd', contextExceeded: false }
  expect(toErrorAnswer('messages', status, error)).toEqual({
    status,
    body: { type: 'error', error: { type, message: 'odd' } },
  })
  expect(toErrorAnswer('responses', status, error)).toEqual({
    status,
    body: { error: { message: 'odd', type, param: null, code: null } },
  })
})

it('a picture that the model cannot read is the caller’s to leave out, whatever status the engine gives', () => {
  const error = { message: 'image input is not supported - hint', contextExceeded: false }
  expect(toErrorAnswer('messages', 500, error)).toMatchObject({
    status: 400,
    body: { error: { type: 'invalid_request_error', message: error.message } },
  })
  expect(toErrorAnswer('chat', 500, { ...error, message: 'the image broke' }).status).toBe(500)
})

it('a prompt that is too long is the caller’s to cure, whatever status the engine gives', () => {
  const error = { message: 'n_ctx', contextExceeded: true }
  expect(toErrorAnswer('messages', 500, error)).toEqual({
    status: 400,
    body: { type: 'error', error: { type: 'invalid_request_error', message: 'prompt is too long: n_ctx' } },
  })
  expect(toErrorAnswer('responses', 500, error)).toMatchObject({
    status: 400,
    body: { error: { code: 'context_length_exceeded' } },
  })
})
