import { Command } from 'commander'
import type { Cli, GlobalOptions, MakeCommand } from '../command-line.ts'
import { openDeployment } from '../deployment.ts'
import { findServiceAccount } from '../key-owner.ts'
import { toLocalTime } from '../local-time.ts'
import { unwrap } from '../../sdk/index.ts'

type Options = GlobalOptions & { readonly team?: string; readonly json?: boolean }

export const makeServiceAccounts: MakeCommand = (cli) =>
  new Command('service-accounts')
    .description('List the service accounts of a team: accounts for programs that belong to no person.')
    .helpGroup('For admins of a team:')
    .option('--team <team>', '@organization/name; your own team unless given')
    .option('--json', 'print JSON')
    .action((_options: object, command: Command) => listAccounts(cli, command.optsWithGlobals<Options>()))
    .addCommand(
      new Command('create')
        .description('Create a service account. Its keys: svc keys create KEY --service NAME.')
        .argument('<name>', 'small letters, digits, dots, dashes and underscores, such as build-server')
        .action((name: string, _options: object, command: Command) =>
          createAccount(cli, name, command.optsWithGlobals<Options>()),
        ),
    )
    .addCommand(
      new Command('remove')
        .description('Delete a service account and revoke its keys.')
        .argument('<name>', 'its name')
        .action((name: string, _options: object, command: Command) =>
          removeAccount(cli, name, command.optsWithGlobals<Options>()),
        ),
    )

async function listAccounts({ environment, output }: Cli, { url, team: given, json }: Options): Promise<void> {
  const { control, profile } = await openDeployment(environment.folder, url)
  const team = given ?? profile.team
  const listed = control.GET('/v1/teams/{team}/service-accounts', { params: { path: { team } } })
  const { serviceAccounts } = await unwrap(listed)
  if (json) return output.json(serviceAccounts)
  if (serviceAccounts.length === 0) {
    return output.print(`${team} has no service accounts. Create one: svc service-accounts create NAME`)
  }
  output.table(
    ['NAME', 'KEYS', 'LAST USED', 'CREATED', 'BY'],
    serviceAccounts.map(({ name, activeKeys, lastUsedAt, createdAt, createdBy }) => [
      name,
      String(activeKeys),
      lastUsedAt === null ? 'never' : toLocalTime(lastUsedAt),
      toLocalTime(createdAt),
      createdBy,
    ]),
  )
}

async function createAccount({ environment, output }: Cli, name: string, { url, team: given, json }: Options) {
  const { control, profile } = await openDeployment(environment.folder, url)
  const team = given ?? profile.team
  const created = control.POST('/v1/teams/{team}/service-accounts', { params: { path: { team } }, body: { name } })
  const account = await unwrap(created)
  if (json) return output.json(account)
  output.print(`Created ${account.name} in ${team}. Make a key for it: svc keys create KEY --service ${account.name}`)
}

async function removeAccount({ environment, output }: Cli, name: string, { url, team: given, json }: Options) {
  const deployment = await openDeployment(environment.folder, url)
  const { id, team, activeKeys } = await findServiceAccount(deployment, name, given)
  const params = { path: { team, id } }
  const done = await unwrap(deployment.control.DELETE('/v1/teams/{team}/service-accounts/{id}', { params }))
  if (json) return output.json(done)
  output.print(`Deleted ${name} of ${team}, and revoked ${activeKeys} ${activeKeys === 1 ? 'key' : 'keys'} of it.`)
}
