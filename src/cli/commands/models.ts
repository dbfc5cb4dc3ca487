import { Command, InvalidArgumentError } from 'commander'
import { unwrap } from '../../sdk/index.ts'
import type { ServeEntry } from '../../sdk/index.ts'
import { openTeam, toNameInTeam, withTeamOption } from '../arguments/team-options.ts'
import type { TeamOptions } from '../arguments/team-options.ts'
import { toWholeNumber } from '../arguments/whole-number.ts'
import { actionOf } from '../command-line.ts'
import type { Cli, GlobalOptions, MakeCommand } from '../command-line.ts'
import { listModels, NO_MODEL_ADVICE, openDeployment, refreshProfile } from '../deployment/deployment.ts'

type Options = GlobalOptions & { readonly json?: boolean }

type AddOptions = TeamOptions & {
  readonly name?: string
  readonly serve: readonly ServeEntry[]
  readonly offline?: readonly ServeEntry[]
  readonly alias?: readonly string[]
  readonly contextWindow?: number
}

export const makeModels: MakeCommand = (cli) =>
  new Command('models')
    .description('List the models that your team may use.')
    .option('--json', 'print JSON')
    .action(actionOf(cli, showModels))
    .addCommand(makeAdd(cli))
    .addCommand(
      withTeamOption(new Command('remove'))
        .description('Remove a model that an admin has added. For admins of the team.')
        .argument('<name>', NAME)
        .action(actionOf(cli, removeModel)),
    )
    .addCommand(
      withTeamOption(new Command('default'))
        .description('Set the model of calls that name none. For admins of the team.')
        .argument('<id>', 'the whole ID of a model that the team may use, or none: then such calls are refused')
        .action(actionOf(cli, setDefaultModel)),
    )

const NAME = 'the name of the model in the team, such as writer, or its whole ID, such as acme/core/writer'
const SERVE = 'a backend and its name for the model; repeat the option for more backends, which are tried in this order'

const makeAdd: MakeCommand = (cli) =>
  withTeamOption(new Command('add'))
    .description('Add a model to a team, or replace one that an admin has added. For admins of the team.')
    .argument('<name>', NAME)
    .requiredOption('--serve <backend=model>', SERVE, toServeEntries)
    .option(
      '--offline <backend=model>',
      'the same for a backend that is used only while no --serve one can be reached',
      toServeEntries,
    )
    .option('--name <text>', 'the name that lists show (default: <name>)')
    .option('--alias <names...>', 'further names; one that ends in * stands for all names that begin like it')
    .option('--context-window <tokens>', 'in tokens (default: that of the model at the first backend)', toWholeNumber)
    .action(actionOf(cli, addModel))

async function showModels(cli: Cli, { url, json }: Options): Promise<void> {
  const { output } = cli
  const deployment = await openDeployment(cli, url)
  const { gatewayUrl, defaultModel, team } = await refreshProfile(deployment)
  const listed = await listModels(deployment.gatewayAt(gatewayUrl))
  const models = listed.map(({ id, owned_by, metadata }) => ({
    id,
    name: metadata.displayName,
    owner: owned_by,
    isDefault: id === defaultModel,
    aliases: metadata.aliases,
    aliasOf: metadata.aliasOf,
  }))
  if (json) return output.json(models)
  if (models.length === 0) return output.print(`The team ${team} may use no model. ${NO_MODEL_ADVICE}`)
  output.table(
    ['MODEL', 'NAME', 'OWNER', 'ALIASES', ''],
    models
      .filter(({ aliasOf }) => aliasOf === null)
      .map(({ id, name, owner, aliases, isDefault }) => [
        id,
        name,
        owner,
        aliases.join(' '),
        isDefault ? 'default' : '',
      ]),
  )
}

/** Reads `BACKEND=MODEL`, one value of an option that can be repeated, and adds it to the earlier values. */
function toServeEntries(entry: string, before: readonly ServeEntry[] = []): ServeEntry[] {
  const [, backend, model] = /^([^=]+)=(.+)$/.exec(entry) ?? []
  if (!backend || !model) throw new InvalidArgumentError('Write it as BACKEND=MODEL, such as local-engine=qwen3:8b.')
  return [...before, { backend, model }]
}

async function addModel(cli: Cli, name: string, options: AddOptions): Promise<void> {
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

async function removeModel(cli: Cli, name: string, options: TeamOptions): Promise<void> {
  const { control, team } = await openTeam(cli, options)
  const id = toNameInTeam(team, name)
  const params = { path: { team, id } }
  const done = await unwrap(control.DELETE('/v1/teams/{team}/models/{id}', { params }))
  if (options.json) return cli.output.json(done)
  cli.output.print(`${id} is removed from ${team}.`)
}

/** Sets the model of calls that name none. With `none`, such calls are refused. */
async function setDefaultModel(cli: Cli, given: string, options: TeamOptions): Promise<void> {
  const name = given === 'none' ? null : given
  const { control, team } = await openTeam(cli, options)
  const params = { path: { team } }
  const done = await unwrap(control.PATCH('/v1/teams/{team}', { params, body: { defaultModel: name } }))
  if (options.json) return cli.output.json(done)
  const what = name === null ? `${team} has no default model` : `${name} is the default model of ${team}`
  cli.output.print(`${what}, in a few seconds at the latest.`)
}
