import { offerModels } from '../models/rules.ts'
import type { ModelEntry, ModelTeam } from '../models/rules.ts'

/** The addresses of a deployment, without a slash at the end. */
export type Addresses = { readonly baseUrl: string; readonly gatewayUrl: string }

/** The environment variable that opencode puts its credential into. */
const KEY_VARIABLE = 'SVC_API_KEY'

const PROVIDER = 'svc'

/**
 * What opencode needs to use the gateway. It asks without a credential first; then `remote_config` sends it here again
 * with its credential, for the models of its team.
 */
export function toOpencodeDiscovery({ baseUrl, gatewayUrl }: Addresses, team: ModelTeam | null) {
  return {
    // opencode does not renew its credential, so it gets an API key and no token.
    auth: { command: ['svc', 'keys', 'create', 'opencode', '--print', '--url', baseUrl], env: KEY_VARIABLE },
    config: team ? toConfig(gatewayUrl, team) : {},
    remote_config: {
      url: `${gatewayUrl}/.well-known/opencode`,
      headers: { Authorization: `Bearer {env:${KEY_VARIABLE}}` },
    },
  }
}

function toConfig(gatewayUrl: string, team: ModelTeam) {
  const { entries, first } = offerModels(team)
  return {
    ...(first && { model: `${PROVIDER}/${first}`, small_model: `${PROVIDER}/${first}` }),
    provider: {
      [PROVIDER]: {
        npm: '@ai-sdk/openai-compatible',
        name: PROVIDER,
        options: { baseURL: `${gatewayUrl}/v1`, apiKey: `{env:${KEY_VARIABLE}}` },
        models: Object.fromEntries(entries.map((entry) => [entry.name, toModel(entry)])),
      },
    },
  }
}

/**
 * A model of opencode's configuration. What opencode is not told, a model cannot do: it then sends no images, offers no
 * reasoning efforts, and never compacts a conversation.
 */
function toModel({ model: { displayName, contextWindow, caps } }: ModelEntry) {
  const { images = true, pdf = false, efforts = [], reasoningReplay } = caps
  return {
    name: withoutReferences(displayName),
    attachment: images || pdf,
    reasoning: efforts.some((effort) => effort !== 'none'),
    modalities: { input: ['text', ...(images ? ['image'] : []), ...(pdf ? ['pdf'] : [])], output: ['text'] },
    // opencode sends earlier reasoning back only with this.
    ...(reasoningReplay === 'required' && { interleaved: { field: 'reasoning_content' } }),
    ...(contextWindow !== null && {
      limit: { context: contextWindow, output: toOutput(contextWindow, caps.maxOutput) },
    }),
  }
}

/**
 * A text that opencode shows as it is. Anywhere in its configuration, opencode replaces `{env:NAME}` by a variable and
 * `{file:PATH}` by a file of the person's machine, and the admins of a team choose the names of its models.
 */
function withoutReferences(text: string): string {
  return text.replaceAll(/\{(?=(?:env|file):)/g, '{ ')
}

/** The token limit that opencode sends with its calls where it knows no other. */
const DEFAULT_OUTPUT_TOKENS = 32_000

/**
 * The token limit of calls. opencode compacts a conversation that fills the window less this limit, so that more than a
 * quarter of a small window would leave too little for the conversation.
 */
function toOutput(contextWindow: number, maxOutput: number = DEFAULT_OUTPUT_TOKENS): number {
  return Math.min(maxOutput, Math.floor(contextWindow / 4))
}
