import { describe, expect, it } from 'vitest'
import { findPrompt } from '../../src/cli/demo/echo-engine.ts'
import type { EchoMessage } from '../../src/cli/demo/echo-engine.ts'

const user = (content: unknown): EchoMessage => ({ role: 'user', content })

describe('the prompt that the echo engine repeats', () => {
  it.each<[title: string, messages: readonly EchoMessage[], prompt: string]>([
    [
      'is the text of the last user message',
      [user('one'), { role: 'assistant', content: 'two' }, user('three')],
      'three',
    ],
    [
      'may be in parts',
      [
        user([
          { type: 'text', text: 'Say' },
          { type: 'text', text: 'hello' },
        ]),
      ],
      'Say hello',
    ],
    [
      'leaves out what is no text',
      [user([{ type: 'image_url' }, { type: 'text', text: 'What is it?' }])],
      'What is it?',
    ],
    [
      'leaves out the blocks that coding agents add',
      [user('<environment_context>\n  <cwd>/src</cwd>\n</environment_context>\n\nSay hello')],
      'Say hello',
    ],
    [
      'is not a message that has only such blocks',
      [user('Say hello'), user('<system-reminder kind="x">Today is Monday.</system-reminder>')],
      'Say hello',
    ],
    ['keeps a tag without an end', [user('Is a < b or a <b> c?')], 'Is a < b or a <b> c?'],
    ['is empty when nobody has said anything', [{ role: 'system', content: 'Be brief.' }], ''],
    ['is cut after 200 characters', [user('x'.repeat(201))], `${'x'.repeat(200)}...`],
  ])('%s', (_title, messages, prompt) => {
    expect(findPrompt(messages)).toBe(prompt)
  })
})
