import { existsSync } from 'node:fs'
import path from 'node:path'
import type { Environment } from '../environment.ts'
import { setMembers } from '../setup/json-text.ts'
import { toByteValue } from '../setup/settings-file.ts'
import { toolKeyFile } from '../setup/tool-key.ts'
import type { Agent, AgentSettings } from './agent.ts'

const PROVIDER = 'svc'

/**
 * opencode reads its credential once. `svc run` gives it an address of its own, where each call gets a fresh token. Its
 * settings file names the file of an API key.
 */
export const opencode: Agent = {
  program: 'opencode',
  installCommand: 'npm install -g opencode-ai',
  needsKey: true,
  hint: 'Start opencode as you always do.',
  async launch(settings, openLocalGateway) {
    const { url, key } = await openLocalGateway()
    const config = toConfig(settings, url, key)
    return { args: [], variables: { OPENCODE_CONFIG_CONTENT: JSON.stringify(config) } }
  },
  print: (settings) => JSON.stringify(toConfig(settings, settings.gatewayUrl, KEY_FROM_ENVIRONMENT), null, 2),
  edit: (settings, environment) => ({
    file: findFile(environment),
    emptyText: EMPTY_CONFIG,
    change: (text) => {
      const apiKey = `{file:${toolKeyFile(environment, 'opencode')}}`
      return setMembers(text, toMembers(toConfig(settings, settings.gatewayUrl, apiKey)))
    },
  }),
}

/** opencode writes the schema into a file that has none. */
const EMPTY_CONFIG = '{\n  "$schema": "https://opencode.ai/config.json"\n}\n'

/** opencode puts the variable in when it starts. */
const KEY_FROM_ENVIRONMENT = '{env:SVC_API_KEY}'

function toConfig({ model, models }: AgentSettings, gatewayUrl: string, apiKey: string) {
  return {
    model: `${PROVIDER}/${model}`,
    // For titles; without it opencode looks for a small model among all providers.
    small_model: `${PROVIDER}/${model}`,
    provider: {
      [PROVIDER]: {
        npm: '@ai-sdk/openai-compatible',
        name: 'svc',
        options: { baseURL: `${gatewayUrl}/v1`, apiKey },
        models: Object.fromEntries(models.map(({ id, name }) => [id, { name }])),
      },
    },
  }
}

function findFile({ configHome, variables }: Environment): string {
  const given = variables['OPENCODE_CONFIG']
  if (given) return path.resolve(given)
  const folder = path.join(configHome, 'opencode')
  const [json = '', jsonc = ''] = ['opencode.json', 'opencode.jsonc'].map((name) => path.join(folder, name))
  return !existsSync(json) && existsSync(jsonc) ? jsonc : json
}

function toMembers({ model, small_model, provider }: ReturnType<typeof toConfig>): [path: string[], value: unknown][] {
  return [
    [['model'], toByteValue(model)],
    [['small_model'], toByteValue(small_model)],
    [['provider', PROVIDER], toByteValue(provider[PROVIDER])],
  ]
}
