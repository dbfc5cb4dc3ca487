/** A conversation of an agent of about 200 KB in the messages dialect: tools, calls, results and a system prompt. */
export function toConversation(model: string): Buffer {
  const schema = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] }
  const tools = Array.from({ length: 15 }, (_, at) => {
    return { name: `tool_${at}`, description: words(100), input_schema: schema }
  })
  const messages = Array.from({ length: TURNS }, (_, at) => [
    {
      role: 'assistant',
      content: [
        { type: 'text', text: words(30) },
        { type: 'tool_use', id: `toolu_${at}`, name: `tool_${at % 15}`, input: { path: `src/file-${at}.ts` } },
      ],
    },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: `toolu_${at}`, content: words(RESULT_WORDS) }] },
  ]).flat()
  const system = [{ type: 'text', text: words(2_000), cache_control: { type: 'ephemeral' } }]
  const first = { role: 'user', content: 'Read the files.' }
  return Buffer.from(JSON.stringify({ model, max_tokens: 4096, system, tools, messages: [first, ...messages] }))
}

const TURNS = 80
const RESULT_WORDS = 370

function words(count: number): string {
  return Array.from({ length: count }, (_, at) => (at % 12 === 11 ? 'end\n' : 'word ')).join('')
}

/** A line of a source file: with quotes, a line end and a character beyond ASCII. */
const SOURCE_LINE = 'const value = readFile("src/app.ts") ?? 12; // a comment — about it\n'

/** A conversation of an agent of about this many bytes in the chat dialect. */
export function toChat(model: string, bytes: number): Buffer {
  const parameters = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] }
  const tools = Array.from({ length: 15 }, (_, at) => {
    return { type: 'function', function: { name: `tool_${at}`, description: words(80), parameters } }
  })
  const messages: unknown[] = [{ role: 'system', content: words(1_500) }]
  let length = 16_000
  for (let at = 0; length < bytes; at += 1) {
    const call = { name: `tool_${at % 15}`, arguments: JSON.stringify({ path: `src/file-${at}.ts` }) }
    const content = SOURCE_LINE.repeat(8 + (at % 40))
    messages.push({
      role: 'assistant',
      content: null,
      tool_calls: [{ id: `call_${at}`, type: 'function', function: call }],
    })
    messages.push({ role: 'tool', tool_call_id: `call_${at}`, content })
    length += Buffer.byteLength(JSON.stringify(content)) + 220
  }
  return Buffer.from(JSON.stringify({ model, stream: false, messages, tools, temperature: 0 }))
}
