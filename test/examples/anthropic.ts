// The `@anthropic-ai/sdk` package: the base URL is `/vendorb` of the gateway, and the auth token is an access token.
import Anthropic from '@anthropic-ai/sdk'

const { SVC_BASE_URL = 'http://localhost:8787', SVC_TOKEN = '' } = process.env
const client = new Anthropic({ baseURL: `${SVC_BASE_URL}/vendorb`, authToken: SVC_TOKEN, apiKey: null })

const stream = client.messages.stream({
  model: 'svc/fast',
  max_tokens: 64,
  messages: [{ role: 'user', content: 'Hello' }],
})
stream.on('text', (text) => process.stdout.write(text))
await stream.finalMessage()
