import path from 'node:path'
import { setMembers } from '../setup/json-text.ts'
import { toByteValue } from '../setup/settings-file.ts'
import { quoteForShell } from '../terminal/shell.ts'
import type { Agent, AgentSettings } from './agent.ts'

/** Well below the minute for which a printed token is valid. */
const TOKEN_REFRESH_MS = '45000'

/** These win over the helper, or send calls elsewhere. */
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
    const ours = [MODEL_VARIABLE, WINDOW_VARIABLE, ...FAMILIES.map(({ variable }) => variable)]
    const set = [...CONFLICTING, ...Object.keys(env), ...ours]
    const cleared = Object.fromEntries(set.map((name) => [name, undefined]))
    return { args: ['--settings', JSON.stringify(toSettings(settings))], variables: cleared }
  },
  print: (settings) => JSON.stringify(toSettings(settings), null, 2),
  edit: (settings, { home, variables }) => ({
    file: path.join(variables['CLAUDE_CONFIG_DIR'] ?? path.join(home, '.claude'), 'settings.json'),
    emptyText: '{}\n',
    change: (text) => setMembers(text, toMembers(toSettings(settings))),
  }),
}

const MODEL_VARIABLE = 'ANTHROPIC_MODEL'
const WINDOW_VARIABLE = 'CLAUDE_CODE_MAX_CONTEXT_TOKENS'

/** The families of models that Claude Code asks for by names of its own, in the background too. */
const FAMILIES = [
  { variable: 'ANTHROPIC_DEFAULT_OPUS_MODEL', name: 'claude-opus-' },
  { variable: 'ANTHROPIC_DEFAULT_SONNET_MODEL', name: 'claude-sonnet-' },
  { variable: 'ANTHROPIC_DEFAULT_HAIKU_MODEL', name: 'claude-haiku-' },
]

function toSettings(settings: AgentSettings) {
  const { gatewayUrl, tokenCommand } = settings
  return {
    apiKeyHelper: tokenCommand.map(quoteForShell).join(' '),
    env: {
      ANTHROPIC_BASE_URL: `${gatewayUrl}/vendorb`,
      ...toModels(settings),
      CLAUDE_CODE_API_KEY_HELPER_TTL_MS: TOKEN_REFRESH_MS,
    },
  }
}

/**
 * The models to set: a family whose names are aliases needs none, unless the person has chosen a model. Claude Code
 * takes the context window of a model whose name it does not know from a variable.
 */
function toModels({ model, models, isModelChosen, hasModel }: AgentSettings): Record<string, string> {
  const unknown = FAMILIES.filter(({ name }) => isModelChosen || !hasModel(name))
  if (unknown.length === 0) return {}
  const names = [MODEL_VARIABLE, ...unknown.map(({ variable }) => variable)]
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
