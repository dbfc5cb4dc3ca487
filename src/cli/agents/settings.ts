import { realpathSync } from 'node:fs'
import path from 'node:path'
import type { Deployment } from '../deployment.ts'
import { refreshProfile } from '../deployment.ts'
import { CommandError, wrongUsage } from '../failures.ts'
import { unwrap } from '../../sdk/index.ts'
import type { AgentSettings } from './agent.ts'

/**
 * Asks a deployment for what an agent must know. The model is the given one, else the team's default, else the first
 * one.
 */
export async function findAgentSettings(deployment: Deployment, given?: string): Promise<AgentSettings> {
  const { gatewayUrl, team } = await refreshProfile(deployment)
  const [{ data }, { defaultModel }] = await Promise.all([
    unwrap(deployment.gateway.GET('/v1/models')),
    unwrap(deployment.control.GET('/v1/teams/{team}', { params: { path: { team } } })),
  ])
  const models = data.map(({ id, metadata }) => ({ id, name: metadata.displayName }))
  const has = (id: string | null | undefined) => models.some((model) => model.id === id)
  if (given !== undefined && !has(given)) {
    throw wrongUsage(`Your team may not use ${given}. It may use: ${models.map(({ id }) => id).join(', ')}`)
  }
  const model = given ?? (has(defaultModel) ? defaultModel : models[0]?.id)
  if (!model) throw new CommandError(`The team ${team} may use no model. Ask an admin of the team.`)
  return { gatewayUrl, model, models, tokenCommand: tokenCommandOf(deployment.url) }
}

/**
 * This command by its absolute path, for the deployment that it is asked for now: another login must not move running
 * agents.
 */
function tokenCommandOf(url: string): AgentSettings['tokenCommand'] {
  const script = path.resolve(process.argv[1] ?? '')
  return [process.execPath, script, 'token', '--url', url]
}

/** Whether this command runs from a folder that npm empties at will, as `npx` does. */
export function isTemporary(): boolean {
  const script = process.argv[1] ?? ''
  return [script, realpathSync(script)].some((file) => file.includes(`${path.sep}_npx${path.sep}`))
}
