import { existsSync } from 'node:fs'
import path from 'node:path'
import type { Environment } from '../environment.ts'
import { setMembers } from '../setup/json-text.ts'
import { toByteValue } from '../setup/settings-file.ts'
import { toolKeyFile } from '../setup/tool-key.ts'
import { toStart } from './agent.ts'
import type { Agent, AgentSettings } from './agent.ts'

/** The name of the provider in opencode's configuration, here and in the one that a gateway writes. */
export const OPENCODE_PROVIDER = 'svc'

/**
 * opencode reads its credential once. `svc run` therefore gives it the URL of a local proxy, which adds a fresh token
 * to each call. Its settings file names a file with an API key.
 */
export const opencode: Agent = {
  program: 'opencode',
  installCommand: 'npm install -g opencode-ai',
  needsKey: true,
  async launch(settings, openLocalGateway, { variables }) {
    const { url, key } = await openLocalGateway()
    const config = JSON.stringify(toConfig(settings, url, key))
    return {
      args: [],
      variables: { OPENCODE_CONFIG_CONTENT: config, ...withoutProxy(new URL(url).hostname, variables) },
    }
  },
  print: (settings) => JSON.stringify(toConfig(settings, settings.gatewayUrl, KEY_FROM_ENVIRONMENT), null, 2),
  edit: (settings, environment) => ({
    file: findFile(environment),
    // Its API key decides what it may call, whoever is signed in.
    start: toStart(settings, null),
    emptyText: EMPTY_CONFIG,
    change: (text) => {
      const apiKey = `{file:${toolKeyFile(environment, 'opencode')}}`
      return setMembers(text, toMembers(toConfig(settings, settings.gatewayUrl, apiKey)))
    },
  }),
}

/** The variables that keep calls to a host from the proxy of the environment, which cannot reach this machine. */
function withoutProxy(host: string, { NO_PROXY, no_proxy }: Environment['variables']) {
  const hosts = [NO_PROXY || no_proxy, host].filter(Boolean).join(',')
  return { NO_PROXY: hosts, no_proxy: hosts }
}

/** opencode itself would add the schema to a file that has none. */
const EMPTY_CONFIG = '{\n  "$schema": "https://opencode.ai/config.json"\n}\n'

/** opencode replaces this by the value of the variable when it starts. */
const KEY_FROM_ENVIRONMENT = '{env:SVC_API_KEY}'

function toConfig({ model, opencodeModels }: AgentSettings, gatewayUrl: string, apiKey: string) {
  return {
    model: `${OPENCODE_PROVIDER}/${model}`,
    // The model for titles. Without it, opencode searches all providers for a small model.
    small_model: `${OPENCODE_PROVIDER}/${model}`,
    provider: {
      [OPENCODE_PROVIDER]: {
        npm: '@ai-sdk/openai-compatible',
        name: 'svc',
        options: { baseURL: `${gatewayUrl}/v1`, apiKey },
        // A model that was chosen by a prefix alias is not listed, and opencode starts only with a model of its list.
        models: { [model]: { name: model }, ...opencodeModels },
      },
    },
  }
}

function findFile({ configHome, variables }: Environment): string {
  const given = variables['OPENCODE_CONFIG']
  if (given) return path.resolve(given)
  const folder = path.join(configHome, 'opencode')
  const [json = '', jsonc = ''] = ['opencode.json', 'opencode.jsonc'].map((name) => path.join(folder, name))
  // opencode reads both, and the second one wins.
  return existsSync(jsonc) ? jsonc : json
}

function toMembers({ model, small_model, provider }: ReturnType<typeof toConfig>): [path: string[], value: unknown][] {
  return [
    [['model'], toByteValue(model)],
    [['small_model'], toByteValue(small_model)],
    [['provider', OPENCODE_PROVIDER], toByteValue(provider[OPENCODE_PROVIDER])],
  ]
}
