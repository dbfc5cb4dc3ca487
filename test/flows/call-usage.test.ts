import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { readPrices } from '../../src/gateway/prices/read-prices.ts'
import { startGateway } from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'
import { serveEntry, servedModel } from '../support/served-models.ts'
import { answersJson, startUpstream, streams } from '../support/upstream.ts'
import type { TestUpstream } from '../support/upstream.ts'

const PRICE = { input: 1, output: 10, cacheRead: 0.1, cacheWrite: 1.25, cacheWriteLong: 2 }
const MODELS = [
  servedModel('vendora/large', { price: { ...PRICE, fast: { input: 2, output: 20 } } }),
  servedModel('vendora/plain', { caps: { streamUsage: false } }),
  servedModel('vendorb/writer', { price: PRICE }),
  servedModel('svc/fast', { serve: [serveEntry('local-engine', 'qwen')] }),
  servedModel('vendora/translated', {
    price: { ...PRICE, fast: { input: 2, output: 20 } },
    serve: [serveEntry('vendorb', 'w')],
  }),
]

const event = (data: object, name?: string) => `${name ? `event: ${name}\n` : ''}data: ${JSON.stringify(data)}\n\n`
const chatChunk = (members: object) =>
  event({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'vendora/large', ...members })
const TEXT = chatChunk({ choices: [{ index: 0, delta: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }] })
const usage = { prompt_tokens: 12, completion_tokens: 3, total_tokens: 15, prompt_tokens_details: { cached_tokens: 8 } }
const REPORT = chatChunk({ choices: [], usage })
const DONE = 'data: [DONE]\n\n'
const MESSAGE_START = event(
  {
    type: 'message_start',
    message: {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'w',
      content: [],
      usage: {
        input_tokens: 7,
        cache_read_input_tokens: 100,
        cache_creation_input_tokens: 30,
        cache_creation: { ephemeral_5m_input_tokens: 20, ephemeral_1h_input_tokens: 10 },
        output_tokens: 1,
      },
    },
  },
  'message_start',
)
const MESSAGE_END =
  event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }, 'content_block_start') +
  event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hi' } }, 'content_block_delta') +
  event({ type: 'content_block_stop', index: 0 }, 'content_block_stop') +
  event({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 9 } }, 'message_delta') +
  event({ type: 'message_stop' }, 'message_stop')

const chat = { model: 'vendora/large', messages: [{ role: 'user', content: 'Hi' }], stream: true }

describe('the usage of a call', () => {
  let upstream: TestUpstream
  let gateway: TestGateway

  beforeAll(async () => {
    upstream = await startUpstream()
    const { url } = upstream
    gateway = await startGateway({ team: { models: MODELS }, vendora: url, vendorb: url, engine: url })
  })
  beforeEach(() => {
    gateway.events.length = 0
    upstream.restart(streams([TEXT, REPORT + DONE]))
  })
  afterAll(async () => {
    await gateway[Symbol.asyncDispose]()
    await upstream[Symbol.asyncDispose]()
  })

  const sent = () => upstream.last().body.toString()
  const READ = { inputTokens: 4, cacheReadTokens: 8, outputTokens: 3 }
  const COST = 4 * 1000 + 8 * 100 + 3 * 10_000

  it('of a chat stream is asked for, and hidden from a caller that did not ask', async () => {
    const answer = await (await gateway.post('/v1/chat/completions', chat)).text()
    expect(answer).toBe(TEXT + DONE)
    expect(sent()).toBe(`{"stream_options":{"include_usage":true},${JSON.stringify(chat).slice(1)}`)
    expect((await gateway.ended()).result).toMatchObject({ usage: READ, isEstimated: false, costNanoUsd: COST })
  })

  it('of a chat stream is asked for among other options of the caller', async () => {
    const body = { ...chat, stream_options: { include_obfuscation: false, include_usage: false } }
    expect(await (await gateway.post('/v1/chat/completions', body)).text()).toBe(TEXT + DONE)
    expect(JSON.parse(sent())).toEqual({
      ...chat,
      stream_options: { include_obfuscation: false, include_usage: true },
    })
  })

  it('of a chat stream reaches a caller that asked, whose request keeps its bytes', async () => {
    const body = `{ "stream_options" : {"include_usage": true}, ${JSON.stringify(chat).slice(1)}`
    expect(await (await gateway.post('/v1/chat/completions', body)).text()).toBe(TEXT + REPORT + DONE)
    expect(sent()).toBe(body)
  })

  it('is not asked for at a backend that refuses the option, and is then unknown', async () => {
    upstream.restart(streams([TEXT, DONE]))
    const body = { ...chat, model: 'vendora/plain' }
    await (await gateway.post('/v1/chat/completions', body)).text()
    expect(JSON.parse(sent())).toEqual(body)
    const { result } = await gateway.ended()
    expect(result).toMatchObject({ outcome: 'whole', usage: { inputTokens: null }, costNanoUsd: null })
  })

  it('of an engine is hidden from a caller that did not ask', async () => {
    const answer = await (await gateway.post('/v1/chat/completions', { ...chat, model: 'svc/fast' })).text()
    expect(JSON.parse(sent())).toMatchObject({ stream_options: { include_usage: true } })
    expect(answer).not.toContain('usage')
    // An engine without a price has an unknown cost.
    expect((await gateway.ended()).result).toMatchObject({ usage: READ, costNanoUsd: null })
  })

  it('refuses two spellings of the options, which two readers could read differently', async () => {
    const body = `{"stream_options":{"include_usage":true},"Stream_Options":null,${JSON.stringify(chat).slice(1)}`
    const response = await gateway.post('/v1/chat/completions', body)
    expect([response.status, (await response.text()).includes('Stream_Options')]).toEqual([400, true])
  })

  const MESSAGES_READ = { inputTokens: 7, cacheReadTokens: 100, cacheWriteTokens: 20, cacheWriteLongTokens: 10 }
  const MESSAGES_COST = 7 * 1000 + 100 * 100 + 20 * 1250 + 10 * 2000

  it('of a messages stream has the caches of both lifetimes, also in a translated call', async () => {
    upstream.restart(streams([MESSAGE_START, MESSAGE_END]))
    const body = { ...chat, model: 'vendorb/writer', max_tokens: 9 }
    await (await gateway.post('/vendorb/v1/messages', body)).text()
    const whole = { usage: { ...MESSAGES_READ, outputTokens: 9 }, costNanoUsd: MESSAGES_COST + 9 * 10_000 }
    expect((await gateway.ended()).result).toMatchObject(whole)

    gateway.events.length = 0
    await (await gateway.post('/v1/chat/completions', { ...chat, model: 'vendora/translated' })).text()
    expect(await gateway.ended()).toMatchObject({ call: { dialect: 'chat', servedBy: 'vendorb' }, result: whole })
  })

  it.each(['fast', 'priority'])(
    'of a call with the service tier %s has the price of that tier',
    async (service_tier) => {
      await (await gateway.post('/v1/chat/completions', { ...chat, service_tier })).text()
      expect(JSON.parse(sent())).toMatchObject({ service_tier })
      expect((await gateway.ended()).result).toMatchObject({ costNanoUsd: 2 * COST, spent: { nanoUsd: 2 * COST } })
    },
  )

  it('has the standard price where the vendor did not serve the call in the tier that it asks for', async () => {
    const choices = [{ index: 0, delta: { content: 'Hi' }, finish_reason: 'stop' }]
    upstream.restart(streams([chatChunk({ choices, service_tier: 'default' }), REPORT, DONE]))
    await (await gateway.post('/v1/chat/completions', { ...chat, service_tier: 'priority' })).text()
    expect((await gateway.ended()).result).toMatchObject({ costNanoUsd: COST })
  })

  it('of a translated call has the standard price, because the service tier is left out', async () => {
    upstream.restart(streams([MESSAGE_START, MESSAGE_END]))
    await (
      await gateway.post('/v1/chat/completions', { ...chat, model: 'vendora/translated', service_tier: 'fast' })
    ).text()
    expect(JSON.parse(sent())).not.toHaveProperty('service_tier')
    expect((await gateway.ended()).result?.costNanoUsd).toBe(MESSAGES_COST + 9 * 10_000)
  })

  it('of a stream that breaks off is what was reported last, marked as estimated', async () => {
    upstream.restart(streams([MESSAGE_START], { end: 'breaks' }))
    const body = { ...chat, model: 'vendorb/writer', max_tokens: 9 }
    await (await gateway.post('/vendorb/v1/messages', body)).text().catch(() => '')
    const { result } = await gateway.ended()
    expect(result).toMatchObject({ outcome: 'cut', usage: { ...MESSAGES_READ, outputTokens: 1 }, isEstimated: true })
    expect(result?.costNanoUsd).toBe(MESSAGES_COST + 10_000)

    gateway.events.length = 0
    upstream.restart(streams([TEXT], { end: 'breaks' }))
    await (await gateway.post('/v1/chat/completions', chat)).text().catch(() => '')
    expect((await gateway.ended()).result).toMatchObject({ outcome: 'cut', isEstimated: false, costNanoUsd: null })
  })

  it('of a request to count tokens is zero, because it is not billed', async () => {
    upstream.restart(answersJson({ input_tokens: 40 }))
    await gateway.post('/vendorb/v1/messages/count_tokens', { model: 'vendorb/writer', messages: [] })
    expect((await gateway.ended()).result).toMatchObject({ usage: { inputTokens: 0, outputTokens: 0 }, costNanoUsd: 0 })
  })

  it('has the price of a list where the directory gives none, from the next call on', async () => {
    upstream.restart(answersJson({ id: 'c', object: 'chat.completion', choices: [], usage }))
    const body = { ...chat, stream: false, model: 'vendora/plain' }
    await (await gateway.post('/v1/chat/completions', body)).text()
    expect((await gateway.ended()).result?.costNanoUsd).toBe(null)

    const read = readPrices('{"vendora/plain":{"input_cost_per_token":1e-6,"output_cost_per_token":1e-5}}')
    if ('mistakes' in read) throw new Error(read.mistakes.join())
    gateway.prices.replaceList(read.prices)
    gateway.events.length = 0
    await (await gateway.post('/v1/chat/completions', body)).text()
    expect((await gateway.ended()).result?.costNanoUsd).toBe(12 * 1000 + 3 * 10_000)
  })
})
