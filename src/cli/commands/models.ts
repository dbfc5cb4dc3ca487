import { Command } from 'commander'
import type { Cli, GlobalOptions, MakeCommand } from '../command-line.ts'
import { openDeployment } from '../deployment.ts'
import { unwrap } from '../../sdk/index.ts'

type Options = GlobalOptions & { readonly json?: boolean }

export const makeModels: MakeCommand = (cli) =>
  new Command('models')
    .description('List the models that your team may use.')
    .option('--json', 'print JSON')
    .action((_options: object, command: Command) => listModels(cli, command.optsWithGlobals<Options>()))

async function listModels({ environment, output }: Cli, { url, json }: Options): Promise<void> {
  const { control, gateway, profile } = await openDeployment(environment.folder, url)
  const [{ data }, { defaultModel }] = await Promise.all([
    unwrap(gateway.GET('/v1/models')),
    unwrap(control.GET('/v1/teams/{team}', { params: { path: { team: profile.team } } })),
  ])
  const models = data.map(({ id, owned_by, metadata }) => ({
    id,
    name: metadata.displayName,
    owner: owned_by,
    isDefault: id === defaultModel,
    aliases: metadata.aliases,
    aliasOf: metadata.aliasOf,
  }))
  if (json) return output.json(models)
  if (models.length === 0) return output.print(`The team ${profile.team} may use no model. Ask an admin of the team.`)
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
