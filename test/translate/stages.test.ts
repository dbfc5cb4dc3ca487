import { describe, expect, it } from 'vitest'
import { nearestEffort } from '../../src/gateway/dialects/caps.ts'
import { DIALECTS } from '../../src/gateway/dialects/dialects.ts'
import { readFailure } from '../../src/gateway/dialects/failures/failure.ts'
import type { FailureKind } from '../../src/gateway/dialects/failures/failure.ts'
import { parseExactly } from '../../src/gateway/dialects/json/read-json.ts'
import type { AnswerEvent } from '../../src/gateway/dialects/neutral.ts'
import { enforceStops } from '../../src/gateway/dialects/stages.ts'

describe('stop sequences for a backend that knows none', () => {
  const part = { kind: 'text' } as const
  const toDelta = (text: string): AnswerEvent => ({ type: 'delta', part, text })
  const shown = (stops: readonly string[], ...pieces: string[]) => {
    const stage = enforceStops(stops)
    const events: AnswerEvent[] = [
      { type: 'open', part },
      ...pieces.map(toDelta),
      { type: 'close', part, text: pieces.join(''), cut: false, seal: null },
      { type: 'finish', finish: 'stop', stopSequence: null, usage: null },
    ]
    const passed = events.flatMap(stage)
    const finish = passed.at(-1)
    return {
      text: passed.flatMap((event) => (event.type === 'delta' ? [event.text] : [])).join(''),
      closed: passed.find((event) => event.type === 'close')?.text,
      finish: finish?.type === 'finish' ? [finish.finish, finish.stopSequence] : null,
    }
  }

  it('end the text at the first match, however the text is cut', () => {
    const whole = 'one END two STOP'
    for (let cut = 0; cut <= whole.length; cut++) {
      const result = shown(['STOP', 'END'], whole.slice(0, cut), whole.slice(cut))
      expect(result).toEqual({ text: 'one ', closed: 'one ', finish: ['stopSequence', 'END'] })
    }
    expect(shown(['END'], ...whole.split(''))).toMatchObject({ text: 'one ' })
  })

  it('end the text at the one that is complete first, however the text is cut', () => {
    const whole = 'abcd'
    for (let cut = 0; cut <= whole.length; cut++) {
      const pieces = [whole.slice(0, cut), whole.slice(cut)]
      expect(shown(['bcd', 'c'], ...pieces)).toMatchObject({ text: 'ab', finish: ['stopSequence', 'c'] })
      expect(shown(['c', 'bc'], ...pieces)).toMatchObject({ text: 'a', finish: ['stopSequence', 'bc'] })
    }
  })

  it('end an answer that has called a tool for that call', () => {
    const stage = enforceStops(['END'])
    const tool = { kind: 'tool', id: 'a', tool: { kind: 'function', name: 'read', namespace: null } } as const
    const events: AnswerEvent[] = [
      { type: 'close', part: tool, text: '{}', cut: false, seal: null },
      { type: 'open', part },
      { type: 'delta', part, text: 'END' },
    ]
    expect(events.flatMap(stage).at(-1)).toMatchObject({ finish: 'tools', stopSequence: null })
  })

  it('never send half of a character, which not every client can put together again', () => {
    const stage = enforceStops(['END'])
    const events: AnswerEvent[] = [{ type: 'open', part }, ...['a😀b', '😀', '😀 c'].map(toDelta)]
    const texts = events.flatMap(stage).flatMap((event) => (event.type === 'delta' ? [event.text] : []))
    expect(texts).toEqual(['a', '😀b', '😀😀'])
  })

  it('hold nothing back in the end where none of them comes', () => {
    expect(shown(['END'], 'one E', 'N')).toEqual({ text: 'one EN', closed: 'one EN', finish: ['stop', null] })
  })
})

describe('a failure of a backend', () => {
  it.each<[number | null, object, FailureKind, number, string | null, number, string]>([
    [401, { error: { message: 'x' } }, 'account', 502, 'upstream_refused_credential', 502, 'api_error'],
    [
      429,
      { error: { code: 'insufficient_quota', message: 'x' } },
      'quota',
      429,
      'insufficient_quota',
      402,
      'billing_error',
    ],
    [429, { error: { message: 'x' } }, 'rateLimit', 429, 'rate_limit_exceeded', 429, 'rate_limit_error'],
    [529, { error: { type: 'overloaded_error', message: 'x' } }, 'overloaded', 503, null, 529, 'overloaded_error'],
    [404, { error: { message: 'x' } }, 'notFound', 404, 'model_not_found', 404, 'not_found_error'],
    [413, { error: { message: 'x' } }, 'tooLarge', 413, null, 413, 'request_too_large'],
    [400, { error: { message: 'x' } }, 'invalid', 400, null, 400, 'invalid_request_error'],
    [
      400,
      { error: { message: 'too many tokens' } },
      'context',
      400,
      'context_length_exceeded',
      400,
      'invalid_request_error',
    ],
    [504, {}, 'timeout', 504, 'upstream_timeout', 504, 'timeout_error'],
    [null, { type: 'overloaded_error', message: 'x' }, 'overloaded', 503, null, 529, 'overloaded_error'],
    [500, { error: { message: 'x' } }, 'failed', 502, 'upstream_failed', 502, 'api_error'],
  ])('with status %s and body %j is %s', (status, body, kind, openAiStatus, code, messagesStatus, type) => {
    const failure = readFailure(body, status)
    expect(failure.kind).toBe(kind)
    for (const dialect of ['chat', 'responses'] as const) {
      expect(DIALECTS[dialect].failureAnswer(failure)).toMatchObject({
        status: openAiStatus,
        body: { error: { code } },
      })
    }
    expect(DIALECTS.messages.failureAnswer(failure)).toMatchObject({
      status: messagesStatus,
      body: { error: { type } },
    })
  })

  it('never tells a caller what it says of the service’s own account', () => {
    const failure = readFailure({ error: { message: 'Incorrect API key provided: sk-abc' } }, 401)
    for (const { failureAnswer } of Object.values(DIALECTS)) {
      expect(JSON.stringify(failureAnswer(failure).body)).not.toContain('sk-abc')
    }
  })
})

it.each([
  ['high', 'high'],
  ['xhigh', 'high'],
  ['max', 'high'],
  ['minimal', 'low'],
  ['none', 'none'],
  ['ultra', 'ultra'],
])('the effort %s is asked for as %s where that is the nearest', (asked, expected) => {
  expect(nearestEffort(asked, ['none', 'low', 'medium', 'high'])).toBe(expected)
})

it('no effort is asked for where the model accepts none', () => {
  expect(nearestEffort('high', [])).toBe(null)
})

it('numbers that JavaScript would change keep their digits', () => {
  const text = '{"id":12345678901234567890,"small":1.5,"e":1e400,"text":"12345678901234567890"}'
  expect(JSON.stringify(parseExactly(text))).toBe(text)
  expect(parseExactly('[1]')).toBeNull()
  expect(parseExactly('{"a":12345678901234567890')).toBeNull()
})
