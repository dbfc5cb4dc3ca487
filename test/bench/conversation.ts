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
