// The `openai` package: the base URL is `/v1` of the gateway, and the API key is an access token.
import OpenAI from 'openai'

const { SVC_BASE_URL = 'http://localhost:8787', SVC_TOKEN = '' } = process.env
const client = new OpenAI({ baseURL: `${SVC_BASE_URL}/v1`, apiKey: SVC_TOKEN })

const stream = await client.chat.completions.create({
  model: 'svc/fast',
  messages: [{ role: 'user', content: 'Hello' }],
  stream: true,
})
for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta.content ?? '')
