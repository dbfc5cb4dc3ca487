import { Command, InvalidArgumentError } from 'commander'
import { unwrap } from '../../sdk/index.ts'
import { openTeam, withTeamOptions } from '../arguments/team-options.ts'
import type { TeamOptions } from '../arguments/team-options.ts'
import { actionOf } from '../command-line.ts'
import type { Cli, MakeCommand } from '../command-line.ts'
import { findServiceAccount } from '../deployment/key-owner.ts'
import { withSameTarget } from '../same-target.ts'
import { toLocalTime } from '../terminal/local-time.ts'

/** The pattern of a service account's name in the contract. */
const NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/

export const makeServiceAccounts: MakeCommand = (cli) =>
  withTeamOptions(new Command('service-accounts'))
    .description('List the service accounts of a team: accounts for programs that belong to no person.')
    .action(actionOf(cli, listAccounts))
    .addCommand(
      new Command('create')
        .description('Create a service account. Its keys: svc keys create KEY --service NAME.')
        .argument('<name>', 'small letters, digits, dots, dashes and underscores, such as build-server', toName)
        .action(actionOf(cli, createAccount)),
    )
    .addCommand(
      new Command('remove')
        .description('Remove a service account and revoke its keys.')
        .argument('<name>', 'the name of the service account')
        .action(actionOf(cli, removeAccount)),
    )

function toName(text: string): string {
  if (NAME.test(text)) return text
  throw new InvalidArgumentError(
    'Use up to 64 small letters, digits, dots, dashes and underscores, and begin with a letter or a digit.',
  )
}

async function listAccounts(cli: Cli, options: TeamOptions): Promise<void> {
  const { output } = cli
  const { control, team } = await openTeam(cli, options)
  const listed = control.GET('/v1/teams/{team}/service-accounts', { params: { path: { team } } })
  const { serviceAccounts } = await unwrap(listed)
  if (options.json) return output.json(serviceAccounts)
  if (serviceAccounts.length === 0) {
    const create = withSameTarget('svc service-accounts create NAME', options)
    return output.print(`${team} has no service accounts. Create one: ${create}`)
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

async function createAccount(cli: Cli, name: string, options: TeamOptions): Promise<void> {
  const { output } = cli
  const { control, team } = await openTeam(cli, options)
  const created = control.POST('/v1/teams/{team}/service-accounts', { params: { path: { team } }, body: { name } })
  const account = await unwrap(created)
  if (options.json) return output.json(account)
  const createKey = withSameTarget(`svc keys create KEY --service ${account.name}`, options)
  output.print(`Created ${account.name} in ${team}. Create a key for it: ${createKey}`)
}

async function removeAccount(cli: Cli, name: string, options: TeamOptions): Promise<void> {
  const { output } = cli
  const { deployment } = await openTeam(cli, options)
  const { id, team, activeKeys } = await findServiceAccount(deployment, name, options)
  const params = { path: { team, id } }
  const done = await unwrap(deployment.control.DELETE('/v1/teams/{team}/service-accounts/{id}', { params }))
  if (options.json) return output.json(done)
  output.print(`${name} is removed from ${team}. API keys that were revoked: ${activeKeys}.`)
}
