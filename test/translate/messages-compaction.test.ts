import { describe, expect, it } from 'vitest'
import { hasCompaction } from '../../src/gateway/dialects/messages/compaction.ts'
import type { Json } from '../../src/gateway/dialects/json/read-json.ts'
import { asked, assistant, call, result, text, use, user } from './messages-requests.ts'
import { pair, refusalOf } from './pairs.ts'

const SUMMARY = { type: 'compaction', content: 'a is b now.', encrypted_content: 'x', signature: 's' }
const TOLD = 'This is a summary of our conversation until now:\n\na is b now.'
const messagesOf = (messages: readonly Json[], system?: string) =>
  asked({ messages, ...(system !== undefined && { system }) }).messages

describe('a summary of the messages vendor, at a backend of another dialect', () => {
  it('takes the place of the messages before it, and keeps the system prompt', () => {
    const messages = [
      user(text('Rename the file.')),
      assistant(use('c1')),
      user(result('c1', 'done')),
      assistant(SUMMARY, text('It is renamed.')),
      user(text('go on')),
    ]
    expect(messagesOf(messages, 'be brief')).toEqual([
      { role: 'system', content: 'be brief' },
      { role: 'user', content: TOLD },
      { role: 'assistant', content: 'It is renamed.' },
      { role: 'user', content: 'go on' },
    ])
  })

  it('may stand alone at the beginning, with calls behind it', () => {
    const messages = [assistant(SUMMARY), user(text('go on')), assistant(use('c2')), user(result('c2', 'ok'))]
    expect(messagesOf(messages)).toEqual([
      { role: 'user', content: `${TOLD}\n\ngo on` },
      { role: 'assistant', content: null, tool_calls: [call('c2')] },
      { role: 'tool', tool_call_id: 'c2', content: 'ok' },
    ])
  })

  it('is the last of several', () => {
    const messages = [
      assistant({ ...SUMMARY, content: 'old' }),
      user(text('hi')),
      assistant(SUMMARY),
      user(text('go on')),
    ]
    expect(messagesOf(messages)).toEqual([{ role: 'user', content: `${TOLD}\n\ngo on` }])
  })

  it('is nothing when the compaction failed', () => {
    const messages = [
      user(text('hi')),
      assistant({ type: 'compaction', content: null }, text('yes')),
      user(text('go on')),
    ]
    expect(messagesOf(messages)).toEqual([
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: 'yes' },
      { role: 'user', content: 'go on' },
    ])
  })

  it('reaches a responses backend too', () => {
    const { input } = pair('messages', 'responses', { messages: [assistant(SUMMARY), user(text('go on'))] }).request
    expect(JSON.stringify(input)).toContain('a is b now.')
  })

  it('is refused with changes of tools, which are not in the messages', () => {
    const changes = [{ type: 'tool_removal', tool: { type: 'tool_reference', name: 'exec' } }]
    const messages = [
      user(text('hi')),
      assistant(text('yes'), { ...SUMMARY, tool_changes: changes }),
      user(text('go on')),
    ]
    expect(refusalOf('messages', 'chat', { messages })).toBe('messages.1.content.1.tool_changes')
  })
})

it.each<[Json, boolean]>([
  [{ messages: [assistant(SUMMARY), user(text('hi'))] }, true],
  [{ messages: [user(text('hi'))], compaction: { type: 'summarize' } }, true],
  [{ messages: [user(text('hi')), assistant(text('yes'))] }, false],
])('is translated for an engine, which does not know summaries: %j', (body, expected) => {
  expect(hasCompaction(body)).toBe(expected)
})
