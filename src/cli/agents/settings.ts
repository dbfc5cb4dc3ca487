import { realpathSync } from 'node:fs'
import path from 'node:path'
import { unwrap } from '../../sdk/index.ts'
import { listModels, NO_MODEL_ADVICE, refreshProfile } from '../deployment/deployment.ts'
import type { Deployment } from '../deployment/deployment.ts'
import type { Environment } from '../environment.ts'
import { CommandError, wrongUsage } from '../failures.ts'
import { quoteForShell } from '../terminal/shell.ts'
import type { AgentSettings } from './agent.ts'
import { lastingPath } from './lasting-path.ts'
import { OPENCODE_PROVIDER } from './opencode.ts'

/**
 * Asks a deployment for the settings of an agent. The model is `given`, or else the default model of the team, or else
 * its first model. `suffix`: the `modelSuffix` of the agent.
 */
export async function findAgentSettings(
  deployment: Deployment,
  environment: Environment,
  given?: string,
  suffix = '',
): Promise<AgentSettings> {
  const { gatewayUrl, defaultModel, team } = await refreshProfile(deployment)
  const gateway = deployment.gatewayAt(gatewayUrl)
  const [listed, discovery] = await Promise.all([listModels(gateway), unwrap(gateway.GET('/.well-known/opencode'))])
  const models = listed.map(({ id, metadata, max_input_tokens: contextWindow }) => {
    return { id, name: metadata.displayName, contextWindow }
  })
  const [first] = models
  if (!first) throw new CommandError(`The team ${team} may use no model. ${NO_MODEL_ADVICE}`)
  const hasModel = makeHasModel(listed)
  const called = given && withoutSuffix(given, suffix)
  if (called !== undefined && !hasModel(called)) {
    throw wrongUsage(`Your team may not use ${given}. It may use: ${models.map(({ id }) => id).join(', ')}`)
  }
  const model = given ?? (defaultModel !== null && hasModel(defaultModel) ? defaultModel : first.id)
  const tokenCommand = tokenCommandOf(environment, deployment.url)
  const tokenCommandLine = tokenCommand.map((part) => quoteForShell(part, environment.platform)).join(' ')
  const opencodeModels = readOpencodeModels(discovery.config)
  return {
    deploymentUrl: deployment.url,
    gatewayUrl,
    model,
    models,
    opencodeModels,
    isModelChosen: given !== undefined,
    hasModel,
    tokenCommand,
    tokenCommandLine,
  }
}

/** The model that an agent calls, of a name whose suffix only the agent understands. */
export function withoutSuffix(name: string, suffix: string): string {
  return name.endsWith(suffix) ? name.slice(0, name.length - suffix.length) : name
}

type ListedModel = { readonly id: string; readonly metadata: { readonly aliases: readonly string[] } }

/** Whether a team has a model with this id or alias. `listed`: the models of the team, aliases without `*` too. */
export function makeHasModel(listed: readonly ListedModel[]): AgentSettings['hasModel'] {
  const prefixes = listed.flatMap(({ metadata }) =>
    metadata.aliases.filter(isPrefix).map((alias) => alias.slice(0, -1)),
  )
  return (name) => listed.some(({ id }) => id === name) || prefixes.some((prefix) => name.startsWith(prefix))
}

/** The gateway writes this configuration; a team that may call no model has no provider in it. */
function readOpencodeModels(config: object): AgentSettings['opencodeModels'] {
  // The contract leaves the format to opencode. `src/gateway/clients/opencode.ts` writes these members.
  const { provider } = config as { provider?: Record<string, { models?: Record<string, unknown> }> }
  return provider?.[OPENCODE_PROVIDER]?.models ?? {}
}

/** Whether an alias stands for all names that begin like it. */
function isPrefix(alias: string): boolean {
  return alias.endsWith('*')
}

/**
 * The command that prints a token. It names the deployment, so that a login to another one does not change what running
 * agents use.
 */
function tokenCommandOf({ script }: Environment, url: string): AgentSettings['tokenCommand'] {
  return [lastingPath(process.execPath), lastingPath(script), 'token', '--url', url]
}

/** Whether `npx` runs this command from npm's cache, which npm may delete. */
export function isTemporary({ script }: Environment): boolean {
  return [script, realpathSync(script)].some((file) => file.includes(`${path.sep}_npx${path.sep}`))
}
