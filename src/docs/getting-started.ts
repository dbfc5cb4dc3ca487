/**
 * The first part of the page: a device login and a model call, with curl, our SDK and others. Tests run these commands.
 */
import { html } from '../http/page.ts'
import type { Html } from '../http/page.ts'
import { inline } from './text.ts'

type Addresses = { readonly baseUrl: string; readonly gatewayUrl: string }
type Step = { readonly text: string; readonly command: string }

/** The section of the page with these commands, for the addresses of a deployment. */
export function gettingStarted(addresses: Addresses): Html {
  return html`<section>
    <h2 id="getting-started">Getting started</h2>
    <p>
      Sign in once, then call a model with the access token. An admin of a team must have invited your email address
      before.
    </p>
    <h3 id="with-curl"><a href="#with-curl">With curl</a></h3>
    <ol class="steps">
      ${curlSteps(addresses).map(
        ({ text, command }) =>
          html`<li>
            <p>${inline(text)}</p>
            <pre>${command}</pre>
          </li>`,
      )}
    </ol>
    <h3 id="with-the-sdk"><a href="#with-the-sdk">With the TypeScript SDK</a></h3>
    <p>
      The package <code>@svc/client</code> is generated from this contract. It does the login, refreshes the tokens and
      reads streams. The operator of this deployment builds it with <code>npm run pack -- client</code>.
    </p>
    <pre>${sdkExample(addresses)}</pre>
    <h3 id="with-other-sdks"><a href="#with-other-sdks">With other SDKs and tools</a></h3>
    <p>
      They take a base URL and a credential, which is an API key or an access token. Many read them from these
      variables.
    </p>
    <pre>${sdkVariables(addresses)}</pre>
  </section>`
}

/** The base URL and the credential in the variables that the SDKs of the vendors read. */
export function sdkVariables({ gatewayUrl }: Addresses): string {
  return [
    '# chat completions and responses',
    `export OPENAI_BASE_URL=${gatewayUrl}/v1 OPENAI_API_KEY=$SVC_API_KEY`,
    '# messages',
    `export ANTHROPIC_BASE_URL=${gatewayUrl}/vendorb ANTHROPIC_AUTH_TOKEN=$SVC_API_KEY`,
  ].join('\n')
}

/**
 * The steps of a device login and a model call as shell commands. A value of one answer is a variable of the later
 * steps.
 */
export function curlSteps({ baseUrl, gatewayUrl }: Addresses): readonly Step[] {
  const login = { email: 'ada@example.com', deviceId: 'laptop-1', deviceName: 'laptop-1' }
  const call = { messages: [{ role: 'user', content: 'Hello' }] }
  return [
    {
      text: 'Start a login. The service emails you an approval link. The answer has a `userCode` and a `deviceCode`.',
      command: post(`${baseUrl}/v1/auth/device/start`, `'${JSON.stringify(login)}'`),
    },
    {
      text:
        'Open the link in the email, compare the code on the page with `userCode`, and approve. Then poll: the ' +
        'answer is 428 until you have approved, and then it has the tokens.',
      command: post(`${baseUrl}/v1/auth/device/poll`, '"{\\"deviceCode\\":\\"$DEVICE_CODE\\"}"'),
    },
    {
      text: 'Call a model. Without `model`, the team’s default model is called.',
      command: post(
        `${gatewayUrl}/v1/chat/completions`,
        `'${JSON.stringify(call)}'`,
        '-H "Authorization: Bearer $ACCESS_TOKEN"',
      ),
    },
    {
      text:
        'When the access token has expired, exchange the refresh token for new tokens. Store both, because the ' +
        'refresh token changes too.',
      command: post(
        `${baseUrl}/v1/auth/token/refresh`,
        '"{\\"account\\":\\"ada@example.com\\",\\"refreshToken\\":\\"$REFRESH_TOKEN\\"}"',
      ),
    },
  ]
}

function post(url: string, body: string, ...options: readonly string[]): string {
  return [`curl ${url}`, ...options, "-H 'Content-Type: application/json'", `-d ${body}`].join(' \\\n  ')
}

/** The same with the SDK, as a whole program. */
export function sdkExample({ baseUrl, gatewayUrl }: Addresses): string {
  const addresses = gatewayUrl === baseUrl ? 'baseUrl' : `baseUrl: '${gatewayUrl}', controlPlaneUrl: baseUrl`
  return `import { createClient, deviceLogin, streamChatCompletion } from '@svc/client'
import { fileTokenStore } from '@svc/client/node'

const baseUrl = '${baseUrl}'
const tokens = fileTokenStore('.svc-tokens.json')
if (!(await tokens.load())) {
  const onCode = ({ userCode }: { userCode: string }) => console.log(\`Open the link in the email: \${userCode}\`)
  await deviceLogin({ baseUrl, email: 'ada@example.com', deviceId: 'laptop-1', onCode, tokens })
}
const client = createClient({ ${addresses}, tokens })
for await (const chunk of streamChatCompletion(client, { messages: [{ role: 'user', content: 'Hello' }] })) {
  process.stdout.write(chunk.choices[0]?.delta.content ?? '')
}`
}
