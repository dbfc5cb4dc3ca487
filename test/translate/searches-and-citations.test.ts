import { describe, expect, it } from 'vitest'
import { DEFAULT_CAPS } from '../../src/gateway/dialects/caps.ts'
import type { Dialect } from '../../src/gateway/dialects/dialect.ts'
import { readList, readObject, readText } from '../../src/gateway/dialects/json/read-json.ts'
import type { Json } from '../../src/gateway/dialects/json/read-json.ts'
import { readUrlCitations } from '../../src/gateway/dialects/parts/citations.ts'
import { makeSeals } from '../../src/gateway/dialects/seals.ts'
import { makeSseDecoder } from '../../src/gateway/dialects/sse/decode.ts'
import { encodeEvent } from '../../src/gateway/dialects/sse/encode.ts'
import { CHECKS } from '../support/stream-grammar.ts'
import { pair, refusalOf, withoutUnsigned } from './pairs.ts'
import { parsed, translate } from './streams.ts'

const PAGE = { url: 'https://a.example/one', title: 'One' }
const SAID = 'Rain, says One.'
const searching = (dialect: Dialect) => ({ caps: { ...DEFAULT_CAPS[dialect], hostedSearch: true } })

const RESPONSE = {
  id: 'resp_1',
  object: 'response',
  status: 'completed',
  output: [
    {
      type: 'web_search_call',
      id: 'ws_1',
      status: 'completed',
      action: { type: 'search', query: 'rain', sources: [{ type: 'url', url: PAGE.url }] },
    },
    {
      type: 'message',
      id: 'msg_1',
      role: 'assistant',
      content: [
        {
          type: 'output_text',
          text: SAID,
          annotations: [{ type: 'url_citation', ...PAGE, start_index: 11, end_index: 14 }],
        },
      ],
    },
  ],
  usage: { input_tokens: 9, output_tokens: 3 },
}

const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  content: [
    { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'rain' } },
    {
      type: 'web_search_tool_result',
      tool_use_id: 'srvtoolu_1',
      content: [{ type: 'web_search_result', ...PAGE, encrypted_content: 'EqQB', page_age: null }],
    },
    {
      type: 'text',
      text: SAID,
      citations: [{ type: 'web_search_result_location', ...PAGE, cited_text: 'x', encrypted_index: 'Eo8B' }],
    },
  ],
  stop_reason: 'end_turn',
  usage: { input_tokens: 9, output_tokens: 3 },
}

const COMPLETION = {
  choices: [
    {
      index: 0,
      message: {
        role: 'assistant',
        content: SAID,
        annotations: [{ type: 'url_citation', url_citation: { ...PAGE, start_index: 11, end_index: 14 } }],
      },
      finish_reason: 'stop',
    },
  ],
}

function answerOf(client: Dialect, backend: Dialect, answer: Json, options = {}): Json {
  const made = pair(client, backend, {}, options).answer.whole(answer)
  if ('failed' in made) throw new Error(made.failed.message)
  return made.answer
}

/** The same answer as the stream of a messages backend. */
const MESSAGE_STREAM = [
  { type: 'message_start', message: { ...MESSAGE, content: [] } },
  ...MESSAGE.content.flatMap((block, index) => {
    const start = { type: 'content_block_start', index }
    const stop = { type: 'content_block_stop', index }
    const delta = (one: object) => ({ type: 'content_block_delta', index, delta: one })
    if (block.type === 'web_search_tool_result') return [{ ...start, content_block: block }, stop]
    if (block.type === 'server_tool_use') {
      const json = JSON.stringify(block.input)
      const halves = [json.slice(0, 5), json.slice(5)].map((partial_json) =>
        delta({ type: 'input_json_delta', partial_json }),
      )
      return [{ ...start, content_block: { ...block, input: {} } }, ...halves, stop]
    }
    const citations = readList('citations' in block ? block.citations : []).map((citation) =>
      delta({ type: 'citations_delta', citation }),
    )
    const text = delta({ type: 'text_delta', text: SAID })
    return [{ ...start, content_block: { type: 'text', text: '' } }, text, ...citations, stop]
  }),
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 3 } },
  { type: 'message_stop' },
]
const bytesOf = (events: readonly Json[]) =>
  Buffer.from(events.map((event) => encodeEvent({ event: readText(event.type), data: JSON.stringify(event) })).join(''))

describe('a web search that the backend ran', () => {
  it('is a search item with the query and the pages for a responses client', () => {
    const { output } = answerOf('responses', 'messages', MESSAGE)
    expect(readList(output)[0]).toMatchObject({
      type: 'web_search_call',
      status: 'completed',
      action: { type: 'search', query: 'rain', sources: [{ type: 'url', url: PAGE.url }] },
    })
  })

  it('is a call and its result for a messages client, and is counted in the usage', () => {
    const { content, usage } = answerOf('messages', 'responses', RESPONSE)
    const [call, result] = readList(content).map(readObject)
    expect(call).toMatchObject({ type: 'server_tool_use', name: 'web_search', input: { query: 'rain' } })
    expect(result).toMatchObject({
      type: 'web_search_tool_result',
      tool_use_id: call?.id,
      content: [{ type: 'web_search_result', url: PAGE.url, title: PAGE.url }],
    })
    expect(usage).toMatchObject({ server_tool_use: { web_search_requests: 1 } })
  })

  it.each(['chat', 'responses'] as const)('is streamed as it is answered, to a %s client', (client) => {
    const events = translate(pair(client, 'messages', { stream: true }).answer.stream(), bytesOf(MESSAGE_STREAM))
    expect(CHECKS[client](events)).toEqual([])
    const texts = events.map(({ data }) => data).join('')
    expect(texts).toContain(PAGE.url)
    expect(texts.includes('web_search_call')).toBe(client === 'responses')
  })

  it('is streamed to a messages client as blocks that its grammar allows', () => {
    const [search, message] = RESPONSE.output
    const text = message?.content?.[0]
    const at = { item_id: 'msg_1', output_index: 1, content_index: 0 }
    const events = translate(
      pair('messages', 'responses', { stream: true }).answer.stream(),
      bytesOf([
        { type: 'response.created', response: { ...RESPONSE, status: 'in_progress', output: [] } },
        { type: 'response.output_item.added', output_index: 0, item: { ...search, action: {} } },
        { type: 'response.output_item.done', output_index: 0, item: search },
        { type: 'response.output_item.added', output_index: 1, item: { ...message, content: [] } },
        { type: 'response.content_part.added', ...at, part: { ...text, text: '', annotations: [] } },
        { type: 'response.output_text.delta', ...at, delta: SAID },
        { type: 'response.output_item.done', output_index: 1, item: message },
        { type: 'response.completed', response: RESPONSE },
      ]),
    )
    expect(CHECKS.messages(events)).toEqual([])
    expect(events.map(({ data }) => data).join('')).toContain('web_search_result_location')
  })

  it('is asked for with the domains and the place of the client', () => {
    const place = { type: 'approximate', country: 'NO' }
    const tool = {
      type: 'web_search_20250305',
      name: 'web_search',
      allowed_domains: ['a.example'],
      user_location: place,
    }
    const { request } = pair('messages', 'responses', { tools: [tool] }, searching('responses'))
    expect(request).toMatchObject({
      tools: [{ type: 'web_search', filters: { allowed_domains: ['a.example'] }, user_location: place }],
      include: ['web_search_call.action.sources'],
    })
    const back = { type: 'web_search', filters: { allowed_domains: ['a.example'] }, user_location: place }
    expect(pair('responses', 'messages', { tools: [back] }, searching('messages')).request.tools).toEqual([tool])
  })

  it('of an earlier turn is left out, because only its vendor can read the results', () => {
    const messages = [
      { role: 'user', content: 'Rain?' },
      { role: 'assistant', content: MESSAGE.content },
      { role: 'user', content: 'Thanks.' },
    ]
    const { request } = pair('messages', 'chat', { messages })
    expect(readList(request.messages)[1]).toEqual({ role: 'assistant', content: SAID })
  })

  it.each([true, false])('that this service wrote is removed before its vendor sees it (sealed: %s)', (isSealed) => {
    const seals = makeSeals({ backend: 'b', model: 'm', team: 't', keys: [Buffer.from('k')] })
    const { content } = answerOf('messages', 'responses', RESPONSE, isSealed ? { seals } : {})
    const body = { messages: [{ role: 'assistant', content }] }
    expect(JSON.parse(withoutUnsigned('messages', Buffer.from(JSON.stringify(body))).toString())).toEqual({
      messages: [{ role: 'assistant', content: [{ type: 'text', text: SAID }] }],
    })
  })

  it('that its vendor ran passes unchanged', () => {
    const bytes = Buffer.from(JSON.stringify({ messages: [{ role: 'assistant', content: MESSAGE.content }] }))
    expect(withoutUnsigned('messages', bytes)).toBe(bytes)
  })
})

describe('the source of a text', () => {
  const place = { start_index: 11, end_index: 14 }
  const whole = { start_index: 0, end_index: SAID.length }

  it.each<[Dialect, Json, object]>([
    ['chat', COMPLETION, place],
    ['messages', MESSAGE, whole],
  ])('reaches a responses client from a %s backend', (backend, answer, range) => {
    const message = readList(answerOf('responses', backend, answer).output).at(-1)
    expect(message).toMatchObject({
      content: [{ type: 'output_text', annotations: [{ type: 'url_citation', ...PAGE, ...range }] }],
    })
  })

  it.each<[Dialect, Json, object]>([
    ['responses', RESPONSE, place],
    ['messages', MESSAGE, whole],
  ])('reaches a chat client from a %s backend', (backend, answer, range) => {
    const [choice] = readList(answerOf('chat', backend, answer).choices)
    expect(choice).toMatchObject({
      message: { annotations: [{ type: 'url_citation', url_citation: { ...PAGE, ...range } }] },
    })
  })

  it('reaches a responses client with an event of its own', () => {
    const { answer } = pair('responses', 'messages', { stream: true })
    const replayed = answer.replay(MESSAGE)
    const events = 'events' in replayed ? parsed(replayed.events) : []
    expect(events.find(({ type }) => type === 'response.output_text.annotation.added')).toMatchObject({
      annotation_index: 0,
      annotation: { type: 'url_citation', ...PAGE, ...whole },
    })
  })

  it('has its place in the joined texts for a chat client', () => {
    const texts = { ...MESSAGE, content: [{ type: 'text', text: 'So: ' }, MESSAGE.content.at(-1)] }
    const url_citation = { ...PAGE, start_index: 4, end_index: 4 + SAID.length }
    expect(answerOf('chat', 'messages', texts).choices).toMatchObject([
      { message: { annotations: [{ url_citation }] } },
    ])
    const replayed = pair('chat', 'messages', { stream: true }).answer.replay(texts)
    const deltas = parsed('events' in replayed ? replayed.events : []).flatMap(({ choices }) => readList(choices))
    expect(deltas.find((choice) => 'annotations' in readObject(readObject(choice).delta))).toMatchObject({
      delta: { annotations: [{ url_citation }] },
    })
  })

  it('reaches a messages client with the words that refer to it', () => {
    const { content } = answerOf('messages', 'chat', COMPLETION)
    expect(content).toMatchObject([{ citations: [{ type: 'web_search_result_location', ...PAGE, cited_text: 'One' }] }])
  })

  it('has a title for a messages client also where the backend gives none, as the AI SDK 5 and 6 require', () => {
    const annotations = [{ type: 'url_citation', url_citation: { url: PAGE.url, start_index: 0, end_index: 4 } }]
    const choices = [{ index: 0, message: { content: SAID, annotations }, finish_reason: 'stop' }]
    const { content } = answerOf('messages', 'chat', { ...COMPLETION, choices })
    expect(content).toMatchObject([{ citations: [{ url: PAGE.url, title: PAGE.url, cited_text: 'Rain' }] }])
  })

  it('has no half of a character in these words', () => {
    const annotations = [{ type: 'url_citation', ...PAGE, start_index: 1, end_index: 4 }]
    const item = { type: 'message', content: [{ type: 'output_text', text: '😀 b', annotations }] }
    const { content } = answerOf('messages', 'responses', { ...RESPONSE, output: [item] })
    expect(content).toMatchObject([{ citations: [{ cited_text: '\ufffd b' }] }])
  })
})

describe('the source of a text in a chat stream', () => {
  const said = (content: string): Json => ({ content })
  const cited = (place: Json): Json => {
    return { content: '', annotations: [{ type: 'url_citation', url_citation: { ...PAGE, ...place } }] }
  }
  /** What a messages client gets: its texts, and the words of each that refer to the page. */
  function readCited(...deltas: Json[]): unknown[] {
    const chunks = [...deltas.map((delta) => ({ delta })), { delta: {}, finish_reason: 'stop' }]
    const bytes = chunks.map((choice) => `data: ${JSON.stringify({ choices: [{ index: 0, ...choice }] })}\n\n`)
    const { answer } = pair('messages', 'chat', {})
    const collector = answer.collect()
    for (const event of makeSseDecoder().push(Buffer.from(bytes.join('')))) collector.push(event)
    const made = collector.end()
    if (!('answer' in made)) throw new Error('There is no answer.')
    const texts = readList(made.answer.content)
      .map(readObject)
      .filter(({ type }) => type === 'text')
    return texts.map(({ text, citations }) => [text, readList(citations).map((one) => readObject(one).cited_text)])
  }

  it('may come before it, because OpenRouter searches before its model answers', () => {
    expect(readCited(cited({}), said(SAID))).toEqual([[SAID, [SAID]]])
    const reasoned = [cited({}), { reasoning: 'Hm.' }, said(SAID)]
    expect(readCited(...reasoned)).toEqual([[SAID, [SAID]]])
  })

  it('has its place in that text, although the dialect counts from the start of the first one', () => {
    const deltas = [said('So: '), { reasoning: 'Hm.' }, said(SAID), cited({ start_index: 15, end_index: 18 })]
    expect(readCited(...deltas)).toEqual([
      ['So: ', []],
      [SAID, ['One']],
    ])
  })

  it('goes with the next text when it comes after the end of its own', () => {
    const deltas = [said('So: '), { reasoning: 'Hm.' }, cited({ start_index: 0, end_index: 2 }), said(SAID)]
    expect(readCited(...deltas)).toEqual([
      ['So: ', []],
      [SAID, [SAID]],
    ])
  })
})

describe('log probabilities', () => {
  const token = (text: string) => ({ token: text, logprob: -0.1, bytes: [...Buffer.from(text)], top_logprobs: [] })
  const tokens = [token('Hi'), token(' you')]

  it('are asked for in the words of the backend', () => {
    expect(pair('responses', 'chat', { top_logprobs: 2 }).request).toMatchObject({ logprobs: true, top_logprobs: 2 })
    expect(pair('responses', 'chat', { include: ['message.output_text.logprobs'] }).request.logprobs).toBe(true)
    expect(pair('chat', 'responses', { logprobs: true, top_logprobs: 2 }).request).toMatchObject({
      top_logprobs: 2,
      include: ['message.output_text.logprobs'],
    })
  })

  it.each<[Dialect, Json, string]>([
    ['chat', { logprobs: true }, 'logprobs'],
    ['responses', { top_logprobs: 2 }, 'top_logprobs'],
  ])('are refused by name where the backend has none: %s', (client, body, param) => {
    expect(refusalOf(client, 'messages', body)).toBe(param)
  })

  it('are refused together with stop sequences that this service enforces', () => {
    expect(refusalOf('chat', 'responses', { logprobs: true, stop: 'END' })).toBe('logprobs')
  })

  it('reach a responses client with the deltas, and all of them with the text', () => {
    const chunk = (content: string, from: number) => ({
      choices: [{ index: 0, delta: { content }, logprobs: { content: tokens.slice(from, from + 1) } }],
    })
    const end = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }
    const bytes = [chunk('Hi', 0), chunk(' you', 1), end].map((one) => `data: ${JSON.stringify(one)}\n\n`)
    const stream = pair('responses', 'chat', { stream: true, top_logprobs: 1 }).answer.stream()
    const events = translate(stream, Buffer.from(`${bytes.join('')}data: [DONE]\n\n`))
    expect(CHECKS.responses(events)).toEqual([])
    const bodies = events.map(({ data }) => readObject(JSON.parse(data)))
    const deltas = bodies.filter(({ type }) => type === 'response.output_text.delta')
    expect(deltas.map(({ logprobs }) => logprobs)).toEqual([[tokens[0]], [tokens[1]]])
    expect(bodies.find(({ type }) => type === 'response.output_text.done')).toMatchObject({ logprobs: tokens })
  })

  it('reach a chat client', () => {
    const content = [{ type: 'output_text', text: 'Hi you', annotations: [], logprobs: tokens }]
    const response = { ...RESPONSE, output: [{ type: 'message', id: 'msg_1', role: 'assistant', content }] }
    expect(answerOf('chat', 'responses', response).choices).toMatchObject([{ logprobs: { content: tokens } }])
  })
})

it('reads annotations that name a page, and no others', () => {
  const file = { type: 'file_citation', file_id: 'file_1', ...PAGE }
  const backwards = { type: 'url_citation', ...PAGE, start_index: 5, end_index: 4 }
  expect(readUrlCitations([null, file, { type: 'url_citation' }, backwards])).toEqual([{ ...PAGE, range: null }])
})
