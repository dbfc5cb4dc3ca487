import path from 'node:path'
import { CLAUDE_FAMILIES } from '../../kernel/claude-families.ts'
import { setMembers } from '../setup/json-text.ts'
import { toByteValue } from '../setup/settings-file.ts'
import { toStart } from './agent.ts'
import type { Agent, AgentSettings } from './agent.ts'
import { withoutSuffix } from './settings.ts'

/** Shorter than a minute: `svc token` prints tokens that are valid for at least that long. */
const TOKEN_REFRESH_MS = '45000'

/** Behind the name of a model, it asks for the long context window. */
const LONG_WINDOW = '[1m]'

const MODEL_VARIABLE = 'ANTHROPIC_MODEL'
const WINDOW_VARIABLE = 'CLAUDE_CODE_MAX_CONTEXT_TOKENS'

/** Variables with credentials, which Claude Code sends beside or instead of that of `apiKeyHelper`. */
export const CREDENTIAL_VARIABLES = ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN']

/** Variables with which Claude Code calls another service. */
export const SERVICE_VARIABLES = [
  'CLAUDE_CODE_USE_ANTHROPIC_AWS',
  'CLAUDE_CODE_USE_ANTHROPIC_GOOGLE_CLOUD',
  'CLAUDE_CODE_USE_BEDROCK',
  'CLAUDE_CODE_USE_FOUNDRY',
  'CLAUDE_CODE_USE_MANTLE',
  'CLAUDE_CODE_USE_VERTEX',
]

/** The variables that other settings of the person may set for another service. */
const CONFLICTING = [
  ...CREDENTIAL_VARIABLES,
  'CLAUDE_CODE_OAUTH_TOKEN',
  ...SERVICE_VARIABLES,
  MODEL_VARIABLE,
  WINDOW_VARIABLE,
  ...CLAUDE_FAMILIES.map(({ variable }) => variable),
]

export const claude: Agent = {
  program: 'claude',
  installCommand: 'npm install -g @anthropic-ai/claude-code',
  modelSuffix: LONG_WINDOW,
  async launch(settings) {
    const whole = withEmpty(toSettings(settings), CONFLICTING)
    const variables = Object.fromEntries(Object.keys(whole.env).map((name) => [name, undefined]))
    return { args: ['--settings', JSON.stringify(whole)], variables }
  },
  print: (settings) => JSON.stringify(toSettings(settings), null, 2),
  edit: (settings, { home, variables }) => ({
    file: path.resolve(variables['CLAUDE_CONFIG_DIR'] ?? path.join(home, '.claude'), 'settings.json'),
    start: toStart(settings, findNamed(settings)),
    emptyText: '{}\n',
    change: (text) => {
      const own = CONFLICTING.filter((name) => text.includes(`"${name}"`))
      return setMembers(text, toMembers(withEmpty(toSettings(settings), own)))
    },
  }),
}

type Settings = { readonly apiKeyHelper: string; readonly env: Readonly<Record<string, string>> }

/**
 * The same settings, with an empty text for each of these variables that they do not set. The person's own settings
 * file may set them for another service. Claude Code would then send the token of that service to svc, or not call svc.
 */
function withEmpty({ apiKeyHelper, env }: Settings, names: readonly string[]): Settings {
  return { apiKeyHelper, env: { ...Object.fromEntries(names.map((name) => [name, ''])), ...env } }
}

function toSettings(settings: AgentSettings): Settings {
  const { gatewayUrl, tokenCommandLine } = settings
  return {
    apiKeyHelper: tokenCommandLine,
    env: {
      ANTHROPIC_BASE_URL: `${gatewayUrl}/vendorb`,
      ...toModels(settings),
      CLAUDE_CODE_API_KEY_HELPER_TTL_MS: TOKEN_REFRESH_MS,
    },
  }
}

/**
 * The variables that name models. A family whose names are aliases in the team needs none, unless a model was chosen
 * with `--model`. Claude Code reads the context window of a model that it does not know from a variable.
 */
function toModels({ model, models, isModelChosen, hasModel }: AgentSettings): Record<string, string> {
  const families = CLAUDE_FAMILIES.filter(({ prefix }) => isModelChosen || !hasModel(prefix))
  if (families.length === 0) return {}
  const start = families.every(({ isChosenOnly }) => isChosenOnly) ? [] : [MODEL_VARIABLE]
  const names = [...start, ...families.map(({ variable }) => variable)]
  const window = models.find(({ id }) => id === model)?.contextWindow ?? null
  return {
    ...Object.fromEntries(names.map((name) => [name, model])),
    ...(window !== null && { [WINDOW_VARIABLE]: String(window) }),
  }
}

/** The model that the settings name; null where all names of Claude Code's own models are aliases in the team. */
function findNamed(settings: AgentSettings): string | null {
  const isNamed = Object.keys(toModels(settings)).length > 0
  return isNamed ? withoutSuffix(settings.model, LONG_WINDOW) : null
}

function toMembers({ apiKeyHelper, env }: Settings): [path: string[], value: string][] {
  return [
    [['apiKeyHelper'], toByteValue(apiKeyHelper)],
    ...Object.entries(env).map(([name, value]): [string[], string] => [['env', name], toByteValue(value)]),
  ]
}
