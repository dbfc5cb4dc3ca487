/** Newer parts of the messages dialect, as Claude Code sends them, and what a chat backend gets. */
import { describe, expect, it } from 'vitest'
import { readList, readObject, readText } from '../../src/gateway/dialects/json/read-json.ts'
import type { Json } from '../../src/gateway/dialects/json/read-json.ts'
import { pair, refusalOf } from './pairs.ts'

const user = (content: string) => ({ role: 'user', content })
const system = (...content: Json[]) => ({ role: 'system', content })
const toolOf = (name: string, more: Json = {}) => ({ name, input_schema: { type: 'object' }, ...more })
const byName = (name: string) => ({ type: 'tool_reference', name })
const add = (tool: Json) => ({ type: 'tool_addition', tool })
const remove = (name: string) => ({ type: 'tool_removal', tool: byName(name) })
const define = (name: string) => add({ type: 'tool_definition', definition: toolOf(name) })

const offeredBy = ({ tools }: Json) =>
  readList(tools).map((tool) => readText(readObject(readObject(tool).function).name))

describe('the tools of a conversation whose system messages change them', () => {
  const tools = [toolOf('read'), toolOf('search', { defer_loading: true })]

  it.each<[string, readonly Json[], readonly string[]]>([
    ['without a change, are those that are not deferred', [], ['read']],
    ['have a deferred tool that was added by its name', [system(add(byName('search')))], ['read', 'search']],
    ['have a tool that was added with its definition', [system(define('write'))], ['read', 'write']],
    ['lack a tool that was removed', [system(remove('read'), define('write'))], ['write']],
    [
      'have a tool that was removed and added again',
      [system(define('write')), user('go on'), system(remove('write')), user('go on'), system(add(byName('write')))],
      ['read', 'write'],
    ],
  ])('%s', (_name, changes, expected) => {
    const { request } = pair('messages', 'chat', { tools, messages: [user('hi'), ...changes] })
    expect(offeredBy(request)).toEqual(expected)
  })

  it('are told to the model where they change', () => {
    const messages = [user('hi'), system(define('write'), remove('read'))]
    const { request } = pair('messages', 'chat', { tools, messages })
    expect(JSON.stringify(request.messages)).toMatch(
      /The tool write is available\..*The tool read is no longer available\./,
    )
  })

  it.each<[string, Json, string]>([
    ['a tool without a definition', add(byName('unknown')), 'messages.1.content.0.tool'],
    ['tools of an MCP server', add({ type: 'mcp_toolset_reference' }), 'messages.1.content.0.tool'],
  ])('cannot have %s', (_name, change, path) => {
    expect(refusalOf('messages', 'chat', { tools, messages: [user('hi'), system(change)] })).toBe(path)
  })
})

describe('an answer that another model of the vendor has continued', () => {
  it('is sent on without the block that says so', () => {
    const content = [
      { type: 'fallback', from: {}, to: {} },
      { type: 'text', text: 'Hello.' },
    ]
    const { request } = pair('messages', 'chat', { messages: [user('a'), { role: 'assistant', content }, user('b')] })
    expect(request.messages).toEqual([user('a'), { role: 'assistant', content: 'Hello.' }, user('b')])
  })
})

describe('a system message that is shown until the next message of the user', () => {
  const passing = { role: 'system', content: 'Be brief now.', clear_at: 'next_user_message' }
  const textOf = (messages: readonly Json[]) => JSON.stringify(pair('messages', 'chat', { messages }).request.messages)

  it('is sent while it is the last one, and left out afterwards', () => {
    expect(textOf([user('a'), passing])).toContain('Be brief now.')
    expect(textOf([user('a'), passing, { role: 'assistant', content: 'b' }, user('c')])).not.toContain('Be brief now.')
  })
})
