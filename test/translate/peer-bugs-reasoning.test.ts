/** Bugs that other gateways had with ids and reasoning, each by its report. */
import { describe, expect, it } from 'vitest'
import { DEFAULT_CAPS } from '../../src/gateway/dialects/caps.ts'
import { readList, readObject } from '../../src/gateway/dialects/json/read-json.ts'
import type { Json } from '../../src/gateway/dialects/json/read-json.ts'
import { makeSeals } from '../../src/gateway/dialects/seals.ts'
import { toCallId } from '../../src/gateway/dialects/tools/call-ids.ts'
import { pair } from './pairs.ts'
import { chunks, delta, finalResponse, foldMessage, parsed, run } from './streams.ts'

const VALID_ID = /^[a-zA-Z0-9_-]{1,64}$/
const seals = makeSeals({ backend: 'b1', model: 'model-1', team: 't1', keys: [Buffer.from('key')] })
const elsewhere = makeSeals({ backend: 'b2', model: 'model-1', team: 't1', keys: [Buffer.from('other')] })

const chatCall = (id: string): Json => ({ id, type: 'function', function: { name: 'read', arguments: '{}' } })
const chatLoop = (id: string, more: Json = {}): Json => ({
  messages: [
    { role: 'user', content: 'hi' },
    { role: 'assistant', content: null, tool_calls: [chatCall(id)], ...more },
    { role: 'tool', tool_call_id: id, content: 'x' },
  ],
})
const itemLoop = (id: string, ...before: Json[]): Json => ({
  input: [
    { role: 'user', content: 'hi' },
    ...before,
    { type: 'function_call', id: 'fc_ü|1', call_id: id, name: 'read', arguments: '{}' },
    { type: 'function_call_output', call_id: id, output: 'x' },
  ],
})
const blocksOf = (request: Json): Json[] =>
  readList(request.messages).flatMap((message) => readList(readObject(message).content).map(readObject))
const itemsOf = (request: Json): Json[] => readList(request.input).map(readObject)
const event = (body: Json) => ({ event: String(body.type), data: JSON.stringify(body) })

describe('ids of calls', () => {
  it.each(['functions.Bash:0', 'x'.repeat(80)])('bifrost#5097, 9router#393, claude-code-router#1334: %s', (id) => {
    const [, use, result] = blocksOf(pair('responses', 'messages', itemLoop(id)).request)
    expect(use?.id).toMatch(VALID_ID)
    expect(result?.tool_use_id).toBe(use?.id)
    const [, call, output] = itemsOf(pair('chat', 'responses', chatLoop(id)).request)
    expect([call?.call_id, output?.call_id]).toEqual([use?.id, use?.id])
  })

  it.each([`chatcmpl-tool-${'0'.repeat(32)}`, 'functions.Bash:0'])(
    'dify#28987: chat vendors get ids of 40 characters at most: %s',
    (id) => {
      const [, turn, result] = readList(pair('responses', 'chat', itemLoop(id)).request.messages).map(readObject)
      const [call] = readList(turn?.tool_calls).map(readObject)
      expect(call?.id).toMatch(/^[a-zA-Z0-9_-]{1,40}$/)
      expect(result?.tool_call_id).toBe(call?.id)
    },
  )

  it('V1ki/dsh-plugin-subscriptions#29: an id of 69 characters that a vendor issued is taken back as it was given out', () => {
    const id = `call_${'y'.repeat(64)}`
    const given = toCallId(id)
    expect(given).toMatch(VALID_ID)
    expect(toCallId(given)).toBe(given)
  })

  it('ldp#479: no payload rides in an id', () => {
    const message = {
      type: 'message',
      content: [
        { type: 'thinking', thinking: 'hm', signature: 'vendor-signature' },
        { type: 'tool_use', id: 'toolu_1', name: 'read', input: {} },
      ],
      stop_reason: 'tool_use',
      usage: {},
    }
    const whole = pair('chat', 'messages', {}, { seals }).answer.whole(message)
    expect(whole).toMatchObject({ answer: { choices: [{ message: { tool_calls: [{ id: 'toolu_1' }] } }] } })
  })

  it('pi#1022: the id of an item, with whatever characters, does not cross', () => {
    expect(JSON.stringify(pair('responses', 'messages', itemLoop('c1')).request)).not.toContain('fc_')
  })
})

describe('reasoning that comes back', () => {
  const SIGNED = seals.write({ kind: 'signed', data: 'vendor-signature', before: 'c1' }, 'hm')
  const reasoning = (sealed: string): Json => ({
    type: 'reasoning',
    id: 'rs_1',
    summary: [{ type: 'summary_text', text: 'hm' }],
    encrypted_content: sealed,
  })

  it('litellm#36197: a reasoning item goes back to a messages backend as the thought that it was', () => {
    const { request } = pair('responses', 'messages', itemLoop('c1', reasoning(SIGNED)), { seals })
    expect(blocksOf(request)[1]).toEqual({ type: 'thinking', thinking: 'hm', signature: 'vendor-signature' })
  })

  it('litellm#40364, codex#8145, sub2api#3038: sealed reasoning goes to no other backend and to no other account', () => {
    for (const sealed of [elsewhere.write({ kind: 'signed', data: 's', before: null }, 'hm'), 'vendor-signature']) {
      const { request } = pair('responses', 'messages', itemLoop('c1', reasoning(sealed)), { seals })
      expect(blocksOf(request).map(({ type }) => type)).toEqual(['text', 'tool_use', 'tool_result'])
    }
  })

  it('sealed reasoning goes to no other model of a chat backend', () => {
    const sealed = seals.write({ kind: 'plain', data: '', before: null }, 'hm')
    const caps = { ...DEFAULT_CAPS.chat, reasoningReplay: 'accepted' } as const
    const sent = (backendModel: string) =>
      JSON.stringify(
        pair('responses', 'chat', itemLoop('c1', reasoning(sealed)), { caps, seals, backendModel }).request,
      )
    expect(sent('model-1')).toContain('"reasoning_content":"hm"')
    expect(sent('model-2')).not.toContain('hm')
  })

  it('sealed reasoning is asked for only where it goes back', () => {
    const includeOf = (reasoningReplay: 'accepted' | 'refused') =>
      pair('chat', 'responses', {}, { seals, caps: { reasoningReplay } }).request.include
    expect(includeOf('accepted')).toEqual(['reasoning.encrypted_content'])
    expect(includeOf('refused')).toBe(undefined)
  })

  it('a demanded tool leaves out the reasoning of earlier turns, because the vendor refuses both together', () => {
    const body = { ...itemLoop('c1', reasoning(SIGNED)), tools: [{ type: 'function', name: 'read' }] }
    const demanded = { ...body, tool_choice: 'required' }
    expect(blocksOf(pair('responses', 'messages', body, { seals }).request)[1]?.type).toBe('thinking')
    expect(JSON.stringify(pair('responses', 'messages', demanded, { seals }).request)).not.toContain('thinking')
  })

  it('bifrost#5410, copilot-sdk#615: a reasoning item goes to a responses backend without its id', () => {
    const sealed = seals.write({ kind: 'encrypted', data: 'gAAA', before: null }, 'hm')
    const body = chatLoop('c1', {
      reasoning_content: 'hm',
      reasoning_details: [{ type: 'reasoning.encrypted', data: sealed }],
    })
    expect(itemsOf(pair('chat', 'responses', body, { seals }).request)[1]).toEqual({
      type: 'reasoning',
      summary: [{ type: 'summary_text', text: 'hm' }],
      encrypted_content: 'gAAA',
    })
  })

  it('mnfst/llm-gateway#2721: a reasoning item that cannot be sent leaves no message behind', () => {
    const body = { input: [{ role: 'user', content: 'hi' }, reasoning('x')] }
    expect(pair('responses', 'chat', body).request.messages).toEqual([{ role: 'user', content: 'hi' }])
    expect(pair('responses', 'messages', body).request.messages).toHaveLength(1)
  })

  it('reasoning that a chat backend does not get back leaves the texts around it one message', () => {
    const signature = seals.write({ kind: 'plain', data: '', before: null }, 'hm')
    const messages = [
      { role: 'user', content: 'one' },
      { role: 'assistant', content: [{ type: 'thinking', thinking: 'hm', signature }] },
      { role: 'user', content: 'two' },
    ]
    expect(readList(pair('messages', 'chat', { messages }, { seals }).request.messages)).toHaveLength(1)
  })

  it('haystack-core-integrations#2146, opencode#3077: thinking is off where the history has a call without a thought', () => {
    const caps = { ...DEFAULT_CAPS.messages, thinking: 'budget' } as const
    const effort = { reasoning: { effort: 'high' } }
    const without = pair('responses', 'messages', { ...effort, ...itemLoop('c1') }, { caps, seals })
    expect(without.request.thinking).toBeUndefined()
    const sealed = pair('responses', 'messages', { ...effort, ...itemLoop('c1', reasoning(SIGNED)) }, { caps, seals })
    expect(sealed.request.thinking).toMatchObject({ type: 'enabled' })
  })

  it('open-webui#29860: a thought crosses a chat client once, with its signature', () => {
    const content = [
      { type: 'thinking', thinking: 'hm', signature: 'sig' },
      { type: 'tool_use', id: 'c1', name: 'read', input: {} },
    ]
    const answer = { type: 'message', content, stop_reason: 'tool_use', usage: {} }
    const whole = pair('chat', 'messages', {}, { seals }).answer.whole(answer)
    const message = readObject(readObject(readList('answer' in whole ? whole.answer.choices : [])[0]).message)
    expect(message.reasoning_content).toBe('hm')
    const { request } = pair('chat', 'messages', chatLoop('c1', message), { seals })
    expect(blocksOf(request).filter(({ type }) => type === 'thinking')).toEqual([content[0]])
  })

  it('openclaw#82335, pi#9534: a signature that comes in an event of its own is kept', () => {
    const events = [
      { type: 'message_start', message: { usage: {} } },
      { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'real' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: {} },
      { type: 'message_stop' },
    ]
    const crossed = pair('chat', 'messages', { stream: true }, { seals }).answer.stream()
    const [sealed] = parsed(events.flatMap((one) => crossed.push(event(one))))
      .flatMap((chunk) => readList(readObject(readObject(readList(chunk.choices)[0]).delta).reasoning_details))
      .map((detail) => String(readObject(detail).data))
    expect(seals.read(sealed ?? '', '')).toMatchObject({ kind: 'signed', data: 'real' })
  })

  it('claude-code-router#1686, theopenco/llmgateway#2508: thoughts of another vendor do not cross', () => {
    const messages = [
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'hm', signature: 'x' },
          { type: 'text', text: 'a' },
        ],
      },
      { role: 'user', content: 'go on' },
    ]
    const items = itemsOf(pair('messages', 'responses', { messages }, { seals }).request)
    expect(items.map(({ type }) => type)).toEqual(['message', 'message'])
    expect(JSON.stringify(pair('messages', 'chat', { messages }, { seals }).request)).not.toContain('hm')
  })

  it('9router#1189: reasoning_content is there where a chat backend demands it', () => {
    const caps = { ...DEFAULT_CAPS.chat, reasoningReplay: 'required' } as const
    const bare = pair('responses', 'chat', itemLoop('c1'), { caps, seals })
    expect(readList(bare.request.messages)[1]).toMatchObject({ role: 'assistant', reasoning_content: ' ' })
    const kept = pair('responses', 'chat', itemLoop('c1', reasoning('x')), { caps, seals })
    expect(readList(kept.request.messages)[1]).toMatchObject({ reasoning_content: 'hm' })
  })

  it('a client that moves its calls behind all else gets its reasoning back before the right call', () => {
    const thought = (data: string, before: string): Json => ({
      type: 'thinking',
      thinking: data,
      signature: seals.write({ kind: 'encrypted', data, before }, data),
    })
    const use = (id: string): Json => ({ type: 'tool_use', id, name: 'read', input: {} })
    const result = (id: string): Json => ({ type: 'tool_result', tool_use_id: id, content: 'x' })
    const messages = [
      { role: 'assistant', content: [thought('A', 'c1'), thought('B', 'c2'), use('c1'), use('c2')] },
      { role: 'user', content: [result('c1'), result('c2')] },
    ]
    const items = itemsOf(pair('messages', 'responses', { messages }, { seals }).request)
    expect(items.map((item) => item.encrypted_content ?? item.call_id)).toEqual(['A', 'c1', 'B', 'c2', 'c1', 'c2'])
  })

  it('a messages client gets the reasoning of a chat backend with a seal', () => {
    const body = { reasoning_content: 'hm', content: 'a' }
    const stream = pair('messages', 'chat', { stream: true }, { seals }).answer.stream()
    const chunk = { event: null, data: JSON.stringify({ choices: [{ delta: body, finish_reason: 'stop' }] }) }
    const events = [...stream.push(chunk), ...stream.end()]
    const signature = String(foldMessage(events).content[0]?.signature)
    expect(seals.read(signature, 'hm')).toMatchObject({ kind: 'plain', model: 'model-1' })
  })

  it('a chat client, whose thoughts are one text, gives each of them back with its own seal', () => {
    const sealed = ['one', 'two'].map((text) => seals.write({ kind: 'signed', data: `of-${text}`, before: null }, text))
    const said = {
      role: 'assistant',
      content: 'a',
      reasoning_content: 'onetwo',
      reasoning_details: sealed.map((data) => ({ type: 'reasoning.encrypted', data })),
    }
    const messages = [{ role: 'user', content: 'hi' }, said, { role: 'user', content: 'go on' }]
    expect(blocksOf(pair('chat', 'messages', { messages }, { seals }).request).slice(1, 3)).toEqual([
      { type: 'thinking', thinking: 'one', signature: 'of-one' },
      { type: 'thinking', thinking: 'two', signature: 'of-two' },
    ])
  })

  it('the seal of reasoning names the call that follows it, in a stream and in a whole answer', () => {
    const thought = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAA' }
    const call = { type: 'function_call', id: 'fc_1', call_id: 'c1', name: 'read', arguments: '{}' }
    const response = { object: 'response', status: 'completed', output: [thought, call] }
    const answer = () => pair('messages', 'responses', {}, { seals }).answer
    const whole = answer().whole(response)
    const streamed = foldMessage(
      answer()
        .stream()
        .push(event({ type: 'response.completed', response })),
    )
    for (const { content } of ['answer' in whole ? whole.answer : {}, streamed]) {
      const signature = String(readObject(readList(content)[0]).signature)
      expect(seals.read(signature, '')).toMatchObject({ data: 'gAAA', before: 'c1' })
    }
  })

  it.each([true, false])('a responses client gets a seal only if it asked for it (%s)', (isAsked) => {
    const body = { include: isAsked ? ['reasoning.encrypted_content'] : [] }
    const message = { choices: [{ message: { reasoning_content: 'hm', content: 'a' }, finish_reason: 'stop' }] }
    const made = pair('responses', 'chat', body, { seals }).answer.whole(message)
    const [thought] = readList('answer' in made ? made.answer.output : [])
    expect('encrypted_content' in readObject(thought)).toBe(isAsked)
  })

  describe('Portkey#1442, openclaude#67, CLIProxyAPI#2360: what Gemini adds to a call comes back with it', () => {
    const extra_content = { google: { thought_signature: 'EjQK+/MgE=' } }
    const made = [{ ...chatCall('c1'), extra_content }, chatCall('c2')]
    const completion = { choices: [{ message: { content: 'On it.', tool_calls: made }, finish_reason: 'tool_calls' }] }
    const streamed = chunks(
      delta({ content: 'On it.' }),
      ...made.map((call, index) => delta({ tool_calls: [{ index, ...call }] })),
      delta({}, 'tool_calls'),
      '[DONE]',
    )
    const callsIn = (request: Json) =>
      readList(request.messages).flatMap((message) => readList(readObject(message).tool_calls).map(readObject))
    const user = { role: 'user', content: 'hi' }

    it.each(['whole', 'streamed'])('to a messages client, which moves its calls to the end (%s)', (how) => {
      const answer = () => pair('messages', 'chat', {}, { seals }).answer
      const whole = answer().whole(completion)
      const stream = foldMessage(run(answer().stream(), ...streamed))
      const content = readList(how === 'whole' && 'answer' in whole ? whole.answer.content : stream.content)
      const calls = content.filter((block) => readObject(block).type === 'tool_use')
      const others = content.filter((block) => readObject(block).type !== 'tool_use')
      const messages = [user, { role: 'assistant', content: [...others, ...calls] }]
      const { request } = pair('messages', 'chat', { messages }, { seals })
      expect(callsIn(request)).toEqual(made)
      expect(JSON.stringify(readList(request.messages)[1])).not.toContain('svc1')
      // Another account does not get it.
      expect(JSON.stringify(pair('messages', 'chat', { messages }, { seals: elsewhere }).request)).not.toContain('EjQK')
    })

    it.each(['whole', 'streamed'])('to a responses client (%s)', (how) => {
      const include = ['reasoning.encrypted_content']
      const answer = () => pair('responses', 'chat', { include }, { seals }).answer
      const whole = answer().whole(completion)
      const output = finalResponse(run(answer().stream(), ...streamed)).output
      const items = readList(how === 'whole' && 'answer' in whole ? whole.answer.output : output)
      const { request } = pair('responses', 'chat', { include, input: [user, ...items] }, { seals })
      expect(callsIn(request)).toEqual(made)
    })

    it('in the seal of a thought that was shown', () => {
      const message = { reasoning_content: 'hm', tool_calls: made }
      const { answer } = pair('messages', 'chat', {}, { seals })
      const whole = answer.whole({ choices: [{ message, finish_reason: 'stop' }] })
      const content = readList('answer' in whole ? whole.answer.content : [])
      expect(content).toMatchObject([{ type: 'thinking', thinking: 'hm' }, { type: 'tool_use' }, { type: 'tool_use' }])
      const caps = { reasoningReplay: 'accepted' } as const
      const messages = [user, { role: 'assistant', content }]
      const { request } = pair('messages', 'chat', { messages }, { seals, caps })
      expect(readList(request.messages)[1]).toMatchObject({ reasoning_content: 'hm', tool_calls: made })
    })
  })
})
