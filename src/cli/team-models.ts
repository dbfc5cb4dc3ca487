import { InvalidArgumentError } from 'commander'
import type { components } from '../sdk/index.ts'
import { unwrap } from '../sdk/index.ts'
import type { Cli } from './command-line.ts'
import { openTeam, toNameInTeam } from './team-options.ts'
import type { TeamOptions } from './team-options.ts'

type ServeEntry = components['schemas']['ServeEntry']

export type AddOptions = TeamOptions & {
  readonly name?: string
  readonly serve: readonly ServeEntry[]
  readonly offline?: readonly ServeEntry[]
  readonly alias?: readonly string[]
  readonly contextWindow?: number
}

/** Reads `BACKEND=MODEL`, one value of an option that is given several times. */
export function toServeEntries(entry: string, before: readonly ServeEntry[] = []): ServeEntry[] {
  const [, backend, model] = /^([^=]+)=(.+)$/.exec(entry) ?? []
  if (!backend || !model) throw new InvalidArgumentError('Write it as BACKEND=MODEL, such as local-engine=qwen3:8b.')
  return [...before, { backend, model }]
}

/** Adds a model to the team, or replaces one that an admin has added. */
export async function addModel(cli: Cli, name: string, options: AddOptions): Promise<void> {
  const { control, team } = await openTeam(cli, options)
  const id = toNameInTeam(team, name)
  const { serve, offline = [], alias, contextWindow } = options
  const body = {
    displayName: options.name ?? name,
    serve: [...serve, ...offline.map((entry) => ({ ...entry, when: 'offline' as const }))],
    ...(alias && { aliases: [...alias] }),
    ...(contextWindow !== undefined && { contextWindow }),
  }
  const saved = control.PUT('/v1/teams/{team}/models/{id}', { params: { path: { team, id } }, body })
  const model = await unwrap(saved)
  if (options.json) return cli.output.json(model)
  cli.output.print(`${model.id} can be called by the members of ${team}, in a few seconds at the latest.`)
}

/** Removes a model that an admin has added. */
export async function removeModel(cli: Cli, name: string, options: TeamOptions): Promise<void> {
  const { control, team } = await openTeam(cli, options)
  const id = toNameInTeam(team, name)
  const params = { path: { team, id } }
  const done = await unwrap(control.DELETE('/v1/teams/{team}/models/{id}', { params }))
  if (options.json) return cli.output.json(done)
  cli.output.print(`${id} is removed from ${team}.`)
}

/** Sets the model of calls that name none; without `name`, such calls are refused. */
export async function setDefaultModel(cli: Cli, name: string | null, options: TeamOptions): Promise<void> {
  const { control, team } = await openTeam(cli, options)
  const params = { path: { team } }
  const done = await unwrap(control.PATCH('/v1/teams/{team}', { params, body: { defaultModel: name } }))
  if (options.json) return cli.output.json(done)
  cli.output.print(name === null ? `${team} has no default model now.` : `${name} is the default model of ${team} now.`)
}
