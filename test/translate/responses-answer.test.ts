import { describe, expect, it } from 'vitest'
import { checkResponsesStream } from '../support/stream-grammar.ts'
import { json, output, stream, types } from './responses-answers.ts'
import {
  callDelta,
  chunks,
  delta,
  finalResponse,
  fixture,
  jsonFixture,
  run,
  toResponses,
  translate,
} from './streams.ts'

describe('the end', () => {
  const usage = { choices: [], usage: { prompt_tokens: 10, completion_tokens: 4, total_tokens: 14 } }

  it('always has both details of usage', () => {
    expect(finalResponse(stream(delta({ content: 'a' }, 'stop'), usage)).usage).toEqual({
      input_tokens: 10,
      input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
      output_tokens: 4,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 14,
    })
    expect(finalResponse(stream(delta({ content: 'a' }, 'stop'))).usage).toMatchObject({
      total_tokens: 0,
      input_tokens_details: { cached_tokens: 0 },
    })
  })

  it('carries what the engine counted of cache and reasoning', () => {
    expect(finalResponse(translate(toResponses(), fixture('vllm-interleaved-calls.sse'))).usage).toMatchObject({
      input_tokens: 100,
      input_tokens_details: { cached_tokens: 64 },
      output_tokens_details: { reasoning_tokens: 9 },
    })
  })

  it.each<[string, string, string]>([
    ['the token limit', 'length', 'max_output_tokens'],
    ['a filter', 'content_filter', 'content_filter'],
  ])('is incomplete after %s, with its usage and its last item incomplete', (_, finish, reason) => {
    const events = stream(delta({ reasoning: 'hm' }), delta({ content: 'a' }), delta({}, finish), usage)
    expect(finalResponse(events)).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason },
      usage: { total_tokens: 14 },
    })
    expect(output(events).at(-1)).toMatchObject({ type: 'message', status: 'incomplete' })
  })

  it.each<[string, unknown[]]>([
    ['ends without a reason', [delta({ content: 'a' })]],
    ['ends before it began', []],
    ['says only that it is done', ['[DONE]']],
    ['sends an error', [delta({ content: 'a' }), { error: { message: 'x' } }]],
    ['sends an error first', [{ error: { message: 'x' } }]],
    ['sends what is no JSON', ['{"choices"']],
    ['gives up', [delta({ content: 'a' }, 'abort'), '[DONE]']],
  ])('is response.failed, never an error event, when the engine %s', (_, bodies) => {
    const events = run(toResponses(), ...chunks(...bodies))
    expect(checkResponsesStream(events)).toEqual([])
    expect(types(events).at(-1)).toBe('failed')
    expect(types(events).slice(0, 2)).toEqual(['created', 'in_progress'])
    expect(finalResponse(events)).toMatchObject({ status: 'failed', error: { code: 'server_error' } })
  })

  it('tells a prompt that is too long apart, for agents that then compact it', () => {
    const events = run(
      toResponses(),
      ...chunks({ error: { message: "This model's maximum context length is 4096 tokens", code: 400 } }),
    )
    expect(finalResponse(events)).toMatchObject({ error: { code: 'context_length_exceeded' } })
  })

  it('keeps in a failure what was done and counted before', () => {
    const events = run(toResponses(), ...chunks(delta({ content: 'a' }), callDelta(0, '{', 'get', 'c'), usage))
    expect(finalResponse(events)).toMatchObject({
      status: 'failed',
      output: [{ type: 'message' }],
      usage: { total_tokens: 14 },
    })
  })
})

describe('a whole completion', () => {
  it('becomes the response that its stream would have ended with', () => {
    expect(json(jsonFixture('vllm-two-calls.json'))).toMatchObject({
      answer: {
        object: 'response',
        status: 'completed',
        created_at: 1_762_000_000,
        model: 'svc/fast',
        output: [
          { type: 'reasoning', summary: [{ text: 'Both at once.' }] },
          { type: 'function_call', name: 'search', arguments: '{"q": "cats"}' },
          { type: 'function_call', name: 'fetch', arguments: '{"url": "http://a"}' },
        ],
        usage: { input_tokens: 100, input_tokens_details: { cached_tokens: 64 }, total_tokens: 140 },
      },
    })
  })

  it('gives custom calls back as such', () => {
    const message = { tool_calls: [{ id: 'c', function: { name: 'apply_patch', arguments: '{"input":"x"}' } }] }
    expect(json({ choices: [{ message, finish_reason: 'tool_calls' }] })).toMatchObject({
      answer: { output: [{ type: 'custom_tool_call', input: 'x' }] },
    })
  })

  it('is incomplete after the token limit', () => {
    expect(json({ choices: [{ message: { content: 'a' }, finish_reason: 'length' }] })).toMatchObject({
      answer: { status: 'incomplete' },
    })
  })

  it.each([undefined, {}, { choices: [] }, { error: { message: 'x' } }])(
    'is a failure where there is none: %j',
    (body) => {
      expect(json(body)).toMatchObject({ failed: { message: expect.any(String) } })
    },
  )
})
