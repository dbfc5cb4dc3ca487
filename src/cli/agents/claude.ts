import path from 'node:path'
import { CLAUDE_FAMILIES } from '../../kernel/claude-families.ts'
import { setMembers } from '../setup/json-text.ts'
import { toByteValue } from '../setup/settings-file.ts'
import type { Agent, AgentSettings } from './agent.ts'

/** Shorter than a minute: `svc token` prints tokens that are valid for at least that long. */
const TOKEN_REFRESH_MS = '45000'

/** Variables that override `apiKeyHelper`, or send calls to another service. */
const CONFLICTING = [
  'ANTHROPIC_API_KEY',
  'ANTHROPIC_AUTH_TOKEN',
  'CLAUDE_CODE_OAUTH_TOKEN',
  'CLAUDE_CODE_USE_BEDROCK',
  'CLAUDE_CODE_USE_FOUNDRY',
  'CLAUDE_CODE_USE_VERTEX',
]

export const claude: Agent = {
  program: 'claude',
  installCommand: 'npm install -g @anthropic-ai/claude-code',
  hint: 'Start claude as you always do.',
  async launch(settings) {
    const { env } = toSettings(settings)
    const models = [MODEL_VARIABLE, WINDOW_VARIABLE, ...CLAUDE_FAMILIES.map(({ variable }) => variable)]
    const removed = [...CONFLICTING, ...Object.keys(env), ...models]
    const variables = Object.fromEntries(removed.map((name) => [name, undefined]))
    return { args: ['--settings', JSON.stringify(toSettings(settings))], variables }
  },
  print: (settings) => JSON.stringify(toSettings(settings), null, 2),
  edit: (settings, { home, variables }) => ({
    file: path.resolve(variables['CLAUDE_CONFIG_DIR'] ?? path.join(home, '.claude'), 'settings.json'),
    emptyText: '{}\n',
    change: (text) => setMembers(text, toMembers(toSettings(settings))),
  }),
}

const MODEL_VARIABLE = 'ANTHROPIC_MODEL'
const WINDOW_VARIABLE = 'CLAUDE_CODE_MAX_CONTEXT_TOKENS'

function toSettings(settings: AgentSettings) {
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

function toMembers({ apiKeyHelper, env }: ReturnType<typeof toSettings>): [path: string[], value: string][] {
  return [
    [['apiKeyHelper'], toByteValue(apiKeyHelper)],
    ...Object.entries(env).map(([name, value]): [string[], string] => [['env', name], toByteValue(value)]),
  ]
}
