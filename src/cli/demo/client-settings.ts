/** One program that can use the gateway, and the lines that set it up. */
export type ClientSettings = {
  readonly title: string
  /** Where the lines go and what to start then; null for lines that belong into a shell. */
  readonly hint: string | null
  readonly lines: string
}

type Needs = {
  /** The gateway's public address, without a slash at the end. */
  readonly gatewayUrl: string
  /** A model that the caller's team may use. */
  readonly model: string
}

/** What to paste into clients so that they use this gateway. All of them read the access token from `SVC_TOKEN`. */
export function clientSettings({ gatewayUrl, model }: Needs): readonly ClientSettings[] {
  return [
    {
      title: 'Codex',
      hint: 'Save this as ~/.codex/svc.config.toml, then run: codex --profile svc',
      lines: `model = "${model}"
model_provider = "svc"

[model_providers.svc]
name = "svc"
base_url = "${gatewayUrl}/codex/v1"
wire_api = "responses"
env_key = "SVC_TOKEN"`,
    },
    {
      title: 'Claude Code',
      hint: null,
      lines: `export ANTHROPIC_BASE_URL=${gatewayUrl}/vendorb ANTHROPIC_AUTH_TOKEN=$SVC_TOKEN
export ANTHROPIC_MODEL=${model} ANTHROPIC_DEFAULT_HAIKU_MODEL=${model}
claude`,
    },
    {
      title: 'opencode',
      hint: `Save this as opencode.json in your project, then run: opencode --model svc/${model}`,
      lines: `{
  "provider": {
    "svc": {
      "npm": "@ai-sdk/openai-compatible",
      "options": { "baseURL": "${gatewayUrl}/v1", "apiKey": "{env:SVC_TOKEN}" },
      "models": { "${model}": {} }
    }
  }
}`,
    },
    {
      title: 'The openai packages, and tools built on them',
      hint: null,
      lines: `export OPENAI_BASE_URL=${gatewayUrl}/v1 OPENAI_API_KEY=$SVC_TOKEN`,
    },
    {
      title: 'curl',
      hint: null,
      lines: `curl ${gatewayUrl}/v1/chat/completions \\
  -H "Authorization: Bearer $SVC_TOKEN" -H 'Content-Type: application/json' \\
  -d '{"stream": true, "messages": [{"role": "user", "content": "Hello"}]}'`,
    },
  ]
}
