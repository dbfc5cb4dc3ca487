import { listEntries, pickModel } from '../models/rules.ts'
import type { ModelTeam } from '../models/rules.ts'

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
  const entries = listEntries(team).filter(({ name }) => typeof pickModel(team, name) === 'object')
  const first = typeof pickModel(team, undefined) === 'object' ? team.defaultModel : entries.at(0)?.name
  return {
    ...(first && { model: `${PROVIDER}/${first}`, small_model: `${PROVIDER}/${first}` }),
    provider: {
      [PROVIDER]: {
        npm: '@ai-sdk/openai-compatible',
        name: PROVIDER,
        options: { baseURL: `${gatewayUrl}/v1`, apiKey: `{env:${KEY_VARIABLE}}` },
        models: Object.fromEntries(entries.map(({ name, model: { displayName } }) => [name, { name: displayName }])),
      },
    },
  }
}
