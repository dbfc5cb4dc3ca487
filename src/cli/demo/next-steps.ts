import type { TokenSet } from '../../sdk/index.ts'

type Needs = {
  /** The public addresses of the control plane and of the gateway, without a slash at the end. */
  readonly baseUrl: string
  readonly gatewayUrl: string
  readonly tokens: Pick<TokenSet, 'account' | 'accessToken' | 'expiresAt'>
}

/** The commands to try next, to paste into another shell. */
export function nextSteps({ baseUrl, gatewayUrl, tokens }: Needs): string {
  return `
Connect your own tools
----------------------
In another shell, in this folder. The login prints a link: open it and approve.

npx svc login ${baseUrl} --email ${tokens.account}
npx svc run codex
npx svc run claude
npx svc run opencode

Look at the pages
-----------------
Sign in as ${tokens.account} at ${baseUrl}/sign-in
The demo sends no email. It prints the link here.

Any other tool
--------------
A token for it, until ${tokens.expiresAt}:

export SVC_TOKEN=${tokens.accessToken}

export OPENAI_BASE_URL=${gatewayUrl}/v1 OPENAI_API_KEY=$SVC_TOKEN
export ANTHROPIC_BASE_URL=${gatewayUrl}/vendorb ANTHROPIC_AUTH_TOKEN=$SVC_TOKEN

curl ${gatewayUrl}/v1/chat/completions \\
  -H "Authorization: Bearer $SVC_TOKEN" -H 'Content-Type: application/json' \\
  -d '{"stream": true, "messages": [{"role": "user", "content": "Hello"}]}'

Every route is explained at ${baseUrl}/docs
The service keeps running. Press Ctrl-C to stop it.
`
}
