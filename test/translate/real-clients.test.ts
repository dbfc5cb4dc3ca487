import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import type { SseEvent } from '../../src/gateway/dialects/sse/decode.ts'
import { encodeEvent } from '../../src/gateway/dialects/sse/encode.ts'
import { passChatStream } from '../../src/gateway/dialects/chat/pass-stream.ts'
import {
  finalResponse,
  FIXTURES,
  fixture,
  foldMessage,
  jsonFixture,
  messagesCall,
  responsesCall,
  toMessages,
  toResponses,
  translate,
} from './streams.ts'

/** The vendors' own clients over a network that consists of one answer. */
const answering = (body: string, type: string) => ({
  apiKey: 'test',
  maxRetries: 0,
  dangerouslyAllowBrowser: true,
  fetch: () => Promise.resolve(new Response(body, { headers: { 'content-type': type } })),
})
const streaming = (events: SseEvent[]) => answering(events.map(encodeEvent).join(''), 'text/event-stream')
const answer = (body: unknown) => answering(JSON.stringify(body), 'application/json')

const MESSAGES = { model: 'svc/fast', max_tokens: 100, messages: [{ role: 'user' as const, content: 'hi' }] }

describe('@anthropic-ai/sdk', () => {
  it.each([
    'ollama-text.sse',
    'ollama-thinking-two-calls.sse',
    'llama-server/chat-plan-stream.http',
    'llama-server/chat-calls-stream.http',
    'vllm-interleaved-calls.sse',
    'lmstudio-calls-without-index.sse',
  ])('puts together what was said in %s', async (name) => {
    const events = translate(toMessages(), fixture(name))
    const message = await new Anthropic(streaming(events)).messages.stream(MESSAGES).finalMessage()
    const { content, stop_reason, usage } = foldMessage(events)
    expect(JSON.parse(JSON.stringify(message))).toMatchObject({ content, stop_reason, usage })
  })

  it.each(FIXTURES.broken)('throws at the end of %s', async (name) => {
    const stream = new Anthropic(streaming(translate(toMessages(), fixture(name)))).messages.stream(MESSAGES)
    await expect(stream.finalMessage()).rejects.toThrow(Anthropic.APIError)
  })

  it('reads a whole message', async () => {
    const translated = messagesCall().answer.whole(jsonFixture('vllm-two-calls.json'))
    if ('failed' in translated) throw new Error(translated.failed.message)
    const message = await new Anthropic(answer(translated.answer)).messages.create(MESSAGES)
    expect(message.content.map((block) => (block.type === 'tool_use' ? block.input : block.type))).toEqual([
      'thinking',
      { q: 'cats' },
      { url: 'http://a' },
    ])
  })
})

describe('openai', () => {
  it.each([
    'ollama-text.sse',
    'ollama-thinking-two-calls.sse',
    'llama-server/chat-plan-stream.http',
    'llama-server/chat-calls-stream.http',
    'vllm-interleaved-calls.sse',
    'lmstudio-calls-without-index.sse',
  ])('puts together the response of %s', async (name) => {
    const events = translate(toResponses(), fixture(name))
    const response = await new OpenAI(streaming(events)).responses
      .stream({ model: 'svc/fast', input: 'hi' })
      .finalResponse()
    expect(JSON.parse(JSON.stringify(response))).toMatchObject(finalResponse(events))
  })

  it.each(FIXTURES.broken)('sees that %s failed', async (name) => {
    const events = translate(toResponses(), fixture(name))
    const seen: string[] = []
    for await (const event of await new OpenAI(streaming(events)).responses.create({
      model: 'svc/fast',
      input: 'hi',
      stream: true,
    }))
      seen.push(event.type)
    expect(seen.at(-1)).toBe('response.failed')
  })

  it('reads a whole response', async () => {
    const translated = responsesCall().answer.whole(jsonFixture('ollama-text.json'))
    if ('failed' in translated) throw new Error(translated.failed.message)
    const response = await new OpenAI(answer(translated.answer)).responses.create({ model: 'svc/fast', input: 'hi' })
    expect(response.output_text).toBe('Grüß dich, 世界! 👋🏽')
  })

  it('reads a chat stream to its end, and throws where it broke', async () => {
    const read = async (name: string): Promise<string> => {
      const events = translate(passChatStream({ model: 'svc/fast' }), fixture(name))
      let text = ''
      const stream = await new OpenAI(streaming(events)).chat.completions.create({
        model: 'svc/fast',
        messages: [],
        stream: true,
      })
      for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
      return text
    }
    expect(await read('ollama-text.sse')).toBe('Grüß dich, 世界! 👋🏽')
    await expect(read('llama-server/chat-failed-stream.http')).rejects.toThrow('Context size has been exceeded.')
    await expect(read('llama-server/chat-died-stream.http')).rejects.toThrow(OpenAI.APIError)
  })
})
