import { realpathSync } from 'node:fs'
import path from 'node:path'
import { unwrap } from '../../sdk/index.ts'
import { refreshProfile } from '../deployment/deployment.ts'
import type { Deployment } from '../deployment/deployment.ts'
import type { Environment } from '../environment.ts'
import { CommandError, wrongUsage } from '../failures.ts'
import type { AgentSettings } from './agent.ts'

/**
 * Asks a deployment for what an agent must know. The model is the given one, else the team's default, else the first
 * one.
 */
export async function findAgentSettings(
  deployment: Deployment,
  environment: Environment,
  given?: string,
): Promise<AgentSettings> {
  const { gatewayUrl, team } = await refreshProfile(deployment)
  const [{ data }, { defaultModel }] = await Promise.all([
    unwrap(deployment.gateway.GET('/v1/models')),
    unwrap(deployment.control.GET('/v1/teams/{team}', { params: { path: { team } } })),
  ])
  const models = data.map(({ id, metadata, max_input_tokens: contextWindow }) => {
    return { id, name: metadata.displayName, contextWindow }
  })
  const prefixes = data.flatMap(({ metadata }) => metadata.aliases.filter(isPrefix).map((alias) => alias.slice(0, -1)))
  const hasModel = (name: string) =>
    models.some(({ id }) => id === name) || prefixes.some((prefix) => name.startsWith(prefix))
  if (given !== undefined && !hasModel(given)) {
    throw wrongUsage(`Your team may not use ${given}. It may use: ${models.map(({ id }) => id).join(', ')}`)
  }
  const model = given ?? (defaultModel !== null && hasModel(defaultModel) ? defaultModel : models[0]?.id)
  if (!model) throw new CommandError(`The team ${team} may use no model. Ask an admin of the team.`)
  const tokenCommand = tokenCommandOf(environment, deployment.url)
  return { gatewayUrl, model, models, isModelChosen: given !== undefined, hasModel, tokenCommand }
}

/** An alias that stands for all names that begin like it. */
function isPrefix(alias: string): boolean {
  return alias.endsWith('*')
}

/**
 * This command by its absolute path, for the deployment that it is asked for now: another login must not move running
 * agents.
 */
function tokenCommandOf({ script }: Environment, url: string): AgentSettings['tokenCommand'] {
  return [process.execPath, script, 'token', '--url', url]
}

/** Whether this command runs from a folder that npm empties at will, as `npx` does. */
export function isTemporary({ script }: Environment): boolean {
  return [script, realpathSync(script)].some((file) => file.includes(`${path.sep}_npx${path.sep}`))
}
