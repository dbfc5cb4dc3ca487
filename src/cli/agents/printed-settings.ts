import type { Environment } from '../environment.ts'
import { withSameTarget } from '../same-target.ts'
import { toolKeyName } from '../setup/tool-key.ts'
import { quoteForPowerShell, quoteForShell } from '../terminal/shell.ts'
import type { AgentSettings } from './agent.ts'

/** Settings that are only printed, with a note on where to put them. */
export type PrintedSettings = { readonly text: string; readonly note: string }

type Place = {
  readonly environment: Environment
  /** The deployment, where the command was given one. */
  readonly url?: string | undefined
}

type Print = (settings: AgentSettings, place: Place) => PrintedSettings

/** The tools whose settings `svc setup` prints and does not write, by name. */
const PRINTED = {
  openai: ({ deploymentUrl, gatewayUrl }, { environment, url }) => {
    const { toText, toEvaluate } = isPowerShell(environment) ? POWERSHELL : POSIX_SHELL
    const command = toEvaluate(withSameTarget('svc setup openai', { url }))
    return {
      text: toText(`${gatewayUrl}/v1`, deploymentUrl),
      note:
        `Put it into your shell: ${command}. The token expires within minutes. For a program that runs ` +
        `longer, use an API key instead of the token. ${howToCreateKey('openai', url)}`,
    }
  },
  zed: ({ gatewayUrl, models }, { environment, url }) => ({
    text: JSON.stringify({ language_models: { openai_compatible: { svc: toZed(gatewayUrl, models) } } }, null, 2),
    note:
      `These are settings for ${zedFile(environment)}. Zed reads its key from SVC_API_KEY. When you do not ` +
      `start it in a shell, give it the key with its command "agent: open settings". ${howToCreateKey('zed', url)}`,
  }),
  continue: ({ gatewayUrl, models }, { url }) => ({
    text: toContinue(gatewayUrl, models),
    note:
      'These are settings for ~/.continue/config.yaml. Continue reads its key from the line SVC_API_KEY=KEY in ' +
      `~/.continue/.env. ${howToCreateKey('continue', url)}`,
  }),
  cursor: ({ gatewayUrl, models }, { url }) => ({
    text: `Base URL: ${gatewayUrl}/v1\nModels: ${models.map(({ id }) => id).join(', ')}`,
    note:
      'In Cursor, open Settings > Models: set "Override OpenAI Base URL", add the models, and put a key into ' +
      '"OpenAI API Key". Requests for a model with gpt, claude or gemini in its name fail, because Cursor writes ' +
      'them in another form: add such a model by an alias without these words. Cursor calls models from its own ' +
      'servers, so the gateway must be on the internet. While the base URL is set, it sends calls of its own OpenAI ' +
      'models there too. ' +
      howToCreateKey('cursor', url),
  }),
} as const satisfies Readonly<Record<string, Print>>

export type PrintedName = keyof typeof PRINTED

export const PRINTED_NAMES = Object.keys(PRINTED) as PrintedName[]

/** The settings of a tool, as text for people to copy. */
export function printSettings(tool: PrintedName, settings: AgentSettings, place: Place): PrintedSettings {
  const print: Print = PRINTED[tool]
  return print(settings, place)
}

type Shell = {
  /** Sets the variables. URLs are quoted, because a shell evaluates the text and the deployment chose one of them. */
  readonly toText: (baseUrl: string, deploymentUrl: string) => string
  /** How the shell evaluates what a command prints. */
  readonly toEvaluate: (command: string) => string
}

const POSIX_SHELL: Shell = {
  toText: (baseUrl, deploymentUrl) =>
    `export OPENAI_BASE_URL=${quoteForShell(baseUrl, 'linux')}\n` +
    `export OPENAI_API_KEY="$(svc token --new --url ${quoteForShell(deploymentUrl, 'linux')})"`,
  toEvaluate: (command) => `eval "$(${command})"`,
}

const POWERSHELL: Shell = {
  toText: (baseUrl, deploymentUrl) =>
    `$env:OPENAI_BASE_URL = ${quoteForPowerShell(baseUrl)}\n` +
    `$env:OPENAI_API_KEY = svc token --new --url ${quoteForPowerShell(deploymentUrl)}`,
  toEvaluate: (command) => `${command} | Invoke-Expression`,
}

/** On Windows, only shells such as Git Bash set `SHELL`. */
function isPowerShell({ platform, variables }: Environment): boolean {
  return platform === 'win32' && !variables['SHELL']
}

function zedFile({ platform }: Environment): string {
  return platform === 'win32' ? String.raw`%APPDATA%\Zed\settings.json` : '~/.config/zed/settings.json'
}

function howToCreateKey(tool: string, url: Place['url']): string {
  return `Create one: ${withSameTarget(`svc keys create "${toolKeyName(tool)}" --print`, { url })}`
}

/** For models whose context window is unknown, because Zed requires one. Small enough for most models. */
const DEFAULT_WINDOW_TOKENS = 32_768

function toZed(gatewayUrl: string, models: AgentSettings['models']) {
  return {
    api_url: `${gatewayUrl}/v1`,
    available_models: models.map(({ id, name, contextWindow }) => ({
      name: id,
      display_name: name,
      max_tokens: contextWindow ?? DEFAULT_WINDOW_TOKENS,
    })),
  }
}

/** YAML. Its strings are written as JSON, which YAML reads the same. */
function toContinue(gatewayUrl: string, models: AgentSettings['models']): string {
  const entries = models.flatMap(({ id, name }) => [
    `  - name: ${JSON.stringify(name)}`,
    '    provider: openai',
    `    model: ${JSON.stringify(id)}`,
    `    apiBase: ${JSON.stringify(`${gatewayUrl}/v1`)}`,
    '    apiKey: ${{ secrets.SVC_API_KEY }}',
  ])
  return ['name: svc', 'version: 0.0.1', 'schema: v1', 'models:', ...entries].join('\n')
}
