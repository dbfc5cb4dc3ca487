import type { TokenSet } from '../../sdk/index.ts'

/** What to paste into clients so that they use this gateway; the token is good until it expires. */
export function clientSettings(gatewayUrl: string, { accessToken, expiresAt }: TokenSet): string {
  return `
Point your clients here (the token is good until ${expiresAt}):

  export SVC_TOKEN=${accessToken}

  # OpenAI-style SDKs and tools
  export OPENAI_BASE_URL=${gatewayUrl}/v1 OPENAI_API_KEY=$SVC_TOKEN

  # Claude Code, and SDKs of the messages style
  export ANTHROPIC_BASE_URL=${gatewayUrl}/vendorb ANTHROPIC_AUTH_TOKEN=$SVC_TOKEN

  # Codex: ~/.codex/config.toml
  model_provider = "svc"
  [model_providers.svc]
  base_url = "${gatewayUrl}/codex/v1"
  wire_api = "responses"
  env_key = "SVC_TOKEN"

  # curl
  curl ${gatewayUrl}/v1/chat/completions -H "Authorization: Bearer $SVC_TOKEN" -H 'Content-Type: application/json' \\
    -d '{"stream": true, "messages": [{"role": "user", "content": "Hello"}]}'
`
}
