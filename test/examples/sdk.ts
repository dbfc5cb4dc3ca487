// Logs in once, then calls a model in two dialects. In your project, import from '@svc/client' and '@svc/client/node'.
import { createClient, deviceLogin, streamChatCompletion, streamMessage, unwrap } from '../../generated/sdk/index.js'
import { fileTokenStore } from '../../generated/sdk/node.js'

const { SVC_BASE_URL: baseUrl = 'http://localhost:8787', SVC_TOKENS = '.svc-tokens.json' } = process.env
const tokens = fileTokenStore(SVC_TOKENS)

if (!(await tokens.load())) {
  await deviceLogin({
    baseUrl,
    email: 'ada@example.com',
    deviceId: 'example-1',
    tokens,
    onCode: ({ userCode }) => console.log(`Open the link in your email and compare the code: ${userCode}`),
  })
}

const client = createClient({ baseUrl, tokens })
const { data: models } = await unwrap(client.GET('/v1/models'))
console.log(models.map(({ id }) => id).join(', '))

const question = { role: 'user', content: 'Hello' }
for await (const chunk of streamChatCompletion(client, { messages: [question] })) {
  process.stdout.write(chunk.choices[0]?.delta.content ?? '')
}
console.log()
for await (const event of streamMessage(client, { max_tokens: 64, messages: [question] })) {
  process.stdout.write(event.delta?.text ?? '')
  if (event.type === 'message_stop') console.log('\nThe message is complete.')
}
