/** What a real engine answers in each dialect, as it was recorded (`fixtures/README.md`), and what becomes of it. */
import { describe, expect, it } from 'vitest'
import { openNativeDialects } from '../../src/gateway/backends/native-dialects.ts'
import type { SendProbe, DialectSupport } from '../../src/gateway/backends/native-dialects.ts'
import { judgeModel, readModelList } from '../../src/gateway/backends/worker-state.ts'
import { isCompletion, isMessage, isResponse, isTokenCount } from '../../src/gateway/dialects/answer-shapes.ts'
import { DIALECTS } from '../../src/gateway/dialects/dialects.ts'
import { readFailure } from '../../src/gateway/dialects/failures/failure.ts'
import { parseObject, readList, readObject } from '../../src/gateway/dialects/json/read-json.ts'
import type { Json } from '../../src/gateway/dialects/json/read-json.ts'
import { passMessagesStream } from '../../src/gateway/dialects/messages/pass-stream.ts'
import { renameAnswer } from '../../src/gateway/dialects/passing/rename-model.ts'
import { passResponsesStream } from '../../src/gateway/dialects/responses/pass-stream.ts'
import { isResponseStream } from '../../src/gateway/dialects/responses/traits.ts'
import { encodeEvent } from '../../src/gateway/dialects/sse/encode.ts'
import { checkMessagesStream } from '../support/stream-grammar.ts'
import { withoutUnsigned } from './pairs.ts'
import { cutEverywhere, messagesCall, parsed, recorded, responsesCall, translate } from './streams.ts'

const answer = (name: string) => recorded(`llama-server/${name}.http`)
const bodyOf = (name: string): Json => readObject(JSON.parse(answer(name).body.toString()))
const native = (name: string) => translate(passMessagesStream({ model: 'svc/fast' }), answer(name).body)

const THOUGHT = { type: 'thinking', thinking: 'The user greets me.\n' }
const WEATHER = { type: 'tool_use', name: 'get_weather', input: { city: 'Bern', days: 1 } }
const FILE = { type: 'tool_use', name: 'read_file', input: { path: 'ü.txt' } }
const BOTH = { type: 'text', text: 'Both at once.\n\n' }

/** The engine as it answered, by path and what it was asked. */
const asked: SendProbe = (path, body) => {
  const what = path === '/v1/responses' ? 'greeting-stream' : 'tools' in body ? 'impossible-tool' : 'text'
  const { status, body: said } = answer(`${path === '/v1/responses' ? 'responses' : 'messages'}-${what}`)
  return Promise.resolve({ status, body: said.toString() })
}

describe('its own dialects', () => {
  it.each(['messages', 'responses'] as const)('are not relied on: %s', async (dialect) => {
    const found: DialectSupport[] = []
    openNativeDialects({ sendProbe: asked, onFound: (_dialect, support) => void found.push(support) }).supportOf(
      dialect,
      'scripted',
    )
    await expect.poll(() => found).toEqual([{ isNative: false, isStateful: false }])
  })
})

describe('its own messages stream', () => {
  const STREAMS = ['greeting', 'cut', 'stop-sequence', 'thought', 'calls', 'call-cut', 'plan']

  it.each(STREAMS)('passes unchanged however it is cut, and breaks the grammar that clients expect: %s', (what) => {
    const { body } = answer(`messages-${what}-stream`)
    const events = native(`messages-${what}-stream`)
    expect(events.map(encodeEvent).join('')).toBe(body.toString().replace('"model":"scripted"', '"model":"svc/fast"'))
    expect(checkMessagesStream(events)).not.toEqual([])
    for (const chunks of cutEverywhere(body)) {
      expect(translate(passMessagesStream({ model: 'svc/fast' }), ...chunks)).toEqual(events)
    }
  })

  it('reports a failure in the shape of the dialect, which the engine does not use', () => {
    const events = native('messages-failed-stream')
    expect(parsed(events).at(-1)).toEqual({
      type: 'error',
      error: { type: 'invalid_request_error', message: 'prompt is too long: Context size has been exceeded.' },
    })
  })
})

describe('its own responses stream', () => {
  const STREAMS = ['greeting', 'cut', 'thought', 'call-cut', 'plan', 'calls'].map((what) => `responses-${what}-stream`)

  it.each(STREAMS)('is none that its clients can read, so its calls are translated: %s', (name) => {
    expect(isResponseStream(answer(name).body.toString(), 16)).toBe(false)
  })

  it('has the right shape as a whole answer, even when it was cut off', () => {
    expect(bodyOf('responses-cut')).toMatchObject({ object: 'response', status: 'completed' })
    expect(isResponse(bodyOf('responses-cut'))).toBe(true)
  })

  it('that fails ends with response.failed and what went wrong', () => {
    const events = translate(passResponsesStream({ model: 'svc/fast' }), answer('responses-failed-stream').body)
    expect(events.every(({ event }) => event?.startsWith('response.'))).toBe(true)
    expect(parsed(events).at(-1)).toMatchObject({
      type: 'response.failed',
      response: { error: { code: 'context_length_exceeded', message: 'Context size has been exceeded.' } },
    })
  })

  it('has reasoning that a vendor is not sent, because nothing stands where its seal would be', () => {
    const { output } = bodyOf('responses-thought')
    const sent = withoutUnsigned('responses', Buffer.from(JSON.stringify({ input: output })))
    expect(JSON.parse(sent.toString())).toEqual({ input: readList(output).slice(1) })
  })
})

describe('a whole chat completion', () => {
  const message = (name: string) => {
    const made = messagesCall().answer.whole(bodyOf(name))
    return 'answer' in made ? made.answer : made
  }
  const response = (name: string) => {
    const made = responsesCall().answer.whole(bodyOf(name))
    return 'answer' in made ? made.answer : made
  }

  it.each<[string, Json[], string]>([
    ['chat-text', [{ type: 'text', text: 'Hello from the engine.' }], 'end_turn'],
    ['chat-cut', [{ type: 'text', text: 'Grü' }], 'max_tokens'],
    ['chat-thought', [THOUGHT, { type: 'text', text: 'Good morning!' }], 'end_turn'],
    ['chat-call', [{ type: 'tool_use', input: { city: 'Zürich', days: 3 } }], 'tool_use'],
    ['chat-calls', [BOTH, WEATHER, FILE], 'tool_use'],
  ])('%s becomes a message', (name, content, reason) => {
    expect(message(name)).toMatchObject({ content, stop_reason: reason })
  })

  it.each<[string, Json[], string]>([
    ['chat-text', [{ type: 'message', content: [{ text: 'Hello from the engine.' }] }], 'completed'],
    ['chat-cut', [{ type: 'message', status: 'incomplete' }], 'incomplete'],
    ['chat-thought', [{ type: 'reasoning' }, { type: 'message' }], 'completed'],
    ['chat-calls', [{ type: 'message' }, { name: 'get_weather' }, { name: 'read_file' }], 'completed'],
  ])('%s becomes a response', (name, output, status) => {
    expect(response(name)).toMatchObject({ output, status })
  })
})

it('calls a tool when one is demanded but ignores which one, so translations offer only that one', () => {
  const finish = (name: string) => readObject(readList(bodyOf(name).choices)[0]).finish_reason
  expect([finish('chat-required-tool'), finish('chat-chosen-tool')]).toEqual(['tool_calls', 'stop'])
})

describe('a whole answer in another dialect', () => {
  const named = (name: string, isAnswer: (body: Json) => boolean) =>
    parseObject(renameAnswer(answer(name).body, 'svc/fast', isAnswer)?.toString() ?? '')

  it.each<[string, Json[]]>([
    ['messages-text', [{ type: 'text', text: 'Hello from the engine.' }]],
    [
      'messages-thought',
      [
        { ...THOUGHT, signature: '' },
        { type: 'text', text: 'Good morning!' },
      ],
    ],
    ['messages-calls', [BOTH, WEATHER, FILE]],
  ])('%s is one of the service model', (name, content) => {
    expect(named(name, isMessage)).toMatchObject({ model: 'svc/fast', content })
  })

  it('is known by its shape', () => {
    expect(named('messages-count-tokens', isTokenCount)).toEqual({ input_tokens: 21 })
    expect(named('completions-text', isCompletion)).toMatchObject({ model: 'svc/fast' })
    expect(named('unknown-route', isTokenCount)).toBeNull()
  })
})

describe('an error', () => {
  const NO_IMAGES = 'image input is not supported - hint: if this is unexpected, you may need to provide the mmproj'

  it.each<[string, number, number, string]>([
    ['chat-bad-request', 400, 400, "Expected 'messages' to be an array"],
    // Clients would ask again, in vain, at the status that the engine gives to a picture.
    ['chat-image-refused', 500, 400, NO_IMAGES],
    ['messages-image-refused', 500, 400, NO_IMAGES],
    ['responses-image-refused', 500, 400, NO_IMAGES],
    ['messages-bad-request', 500, 500, "'messages' is required"],
    ['chat-loading', 503, 503, 'Loading model'],
    ['responses-previous-response', 400, 400, "llama.cpp does not support 'previous_response_id'."],
    ['responses-custom-tool-call', 400, 400, "Cannot determine type of 'item'"],
  ])('%s (%i) is told as %i: %s', (name, given, status, message) => {
    expect(answer(name).status).toBe(given)
    const error = readFailure(bodyOf(name))
    expect(error.message).toBe(message)
    expect(error.kind).not.toBe('context')
    expect(DIALECTS.messages.errorAnswer(given, error)).toMatchObject({
      status,
      body: { type: 'error', error: { message } },
    })
  })

  it.each(['chat-too-long', 'chat-too-long-stream', 'messages-too-long', 'responses-too-long'])(
    'of a prompt that is too long has the words that clients look for: %s',
    (name) => {
      const { status } = answer(name)
      const error = readFailure(bodyOf(name))
      expect(DIALECTS.messages.errorAnswer(status, error).body.error).toMatchObject({
        type: 'invalid_request_error',
        message: expect.stringMatching(/^prompt is too long: request \(\d+ tokens\) exceeds/) as unknown,
      })
      expect(DIALECTS.responses.errorAnswer(status, error)).toMatchObject({
        status: 400,
        body: { error: { code: 'context_length_exceeded' } },
      })
    },
  )
})

describe('the list of models', () => {
  it('has a model by each of its names', () => {
    const { status, body } = answer('models')
    const probe = readModelList(status, body.toString())
    expect(['scripted', 'the-same', 'other'].map((name) => judgeModel(probe, name))).toEqual([
      'ready',
      'ready',
      'model_missing',
    ])
  })

  it.each(['models-loading', 'health-loading', 'health', 'unknown-route'])('is none: %s', (name) => {
    const { status, body } = answer(name)
    expect(readModelList(status, body.toString())).toEqual({ kind: 'unhealthy' })
  })
})
