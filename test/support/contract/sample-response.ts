/** A small request, answer and stream of the responses dialect. */
export const sampleResponse = {
  body: { input: [{ type: 'message', role: 'user', content: 'Say hello.' }] },
  answer: {
    id: 'resp_1',
    object: 'response',
    model: 'vendora/large',
    status: 'completed',
    output: [{ type: 'message', id: 'msg_1', role: 'assistant', content: [{ type: 'output_text', text: 'Hello!' }] }],
    usage: { input_tokens: 1, output_tokens: 2, total_tokens: 3 },
  },
  events: [
    { type: 'response.output_text.delta', sequence_number: 4, delta: 'Hello!' },
    { type: 'response.completed', sequence_number: 5 },
  ],
} as const
