import { Command, Option } from 'commander'
import { unwrap } from '../../sdk/index.ts'
import type { PutTeamBackend, TeamBackend } from '../../sdk/index.ts'
import { readInput } from '../arguments/read-input.ts'
import { openTeam, toNameInTeam, withTeamOptions } from '../arguments/team-options.ts'
import type { TeamOptions } from '../arguments/team-options.ts'
import { actionOf } from '../command-line.ts'
import type { Cli, MakeCommand } from '../command-line.ts'
import { wrongUsage } from '../failures.ts'
import { withSameTarget } from '../same-target.ts'

type AddOptions = TeamOptions & {
  readonly dialect: PutTeamBackend['dialects']
  readonly basePath?: string
  readonly credentialFile?: string
  readonly withoutCredential?: boolean
  readonly as?: 'bearer' | 'x-api-key'
}

const NAME = 'the name of the backend in the team, such as vendor, or its whole name, such as acme/core/vendor'

export const makeBackends: MakeCommand = (cli) =>
  withTeamOptions(new Command('backends'))
    .description(
      'List the servers that the directory file or an admin has added for the models of a team. Those of the ' +
        'settings, such as local-engine, are not listed.',
    )
    .action(actionOf(cli, listBackends))
    .addCommand(
      new Command('add')
        .description('Add a server for models that you add, or change one that an admin has added.')
        .argument('<name>', NAME)
        .argument('<address>', 'its URL without /v1, such as https://api.vendor.example')
        .addOption(
          new Option('--dialect <names...>', 'the dialects that it speaks')
            .choices(['chat', 'responses', 'messages'])
            .default(['chat']),
        )
        .option('--base-path <path>', 'what its API has in place of /v1, such as /v1beta/openai')
        .option('--credential-file <file>', 'the file that holds its credential; - reads standard input')
        .addOption(new Option('--as <header>', 'how the credential is sent').choices(['bearer', 'x-api-key']))
        .addOption(
          new Option('--without-credential', 'the server needs no credential; removes one that is stored').conflicts([
            'credentialFile',
            'as',
          ]),
        )
        .action(actionOf(cli, addBackend)),
    )
    .addCommand(
      new Command('remove')
        .description('Remove a backend that an admin has added, with its credential.')
        .argument('<name>', NAME)
        .action(actionOf(cli, removeBackend)),
    )

async function listBackends(cli: Cli, options: TeamOptions): Promise<void> {
  const { output } = cli
  const { control, team } = await openTeam(cli, options)
  const listed = await unwrap(control.GET('/v1/teams/{team}/backends', { params: { path: { team } } }))
  if (options.json) return output.json(listed)
  if (listed.backends.length === 0)
    output.print(`Neither the directory file nor an admin has added a backend for ${team}.`)
  else {
    output.table(
      ['NAME', 'DIALECTS', 'ADDRESS', 'BASE PATH', 'CREDENTIAL', ''],
      listed.backends.map((backend) => [
        backend.name,
        backend.dialects.join(' '),
        backend.url ?? 'directory file',
        backend.basePath ?? '',
        credentialOf(backend),
        problemOf(backend),
      ]),
    )
  }
  const hosts = listed.allowedHosts.join(', ')
  output.note(
    hosts
      ? `Admins may add backends at: ${hosts}`
      : 'Admins may not add backends. To allow it, the operator sets SVC_ADMIN_BACKEND_HOSTS.',
  )
}

function credentialOf({ source, credential }: TeamBackend): string {
  if (source === 'file') return ''
  return credential ? `set, sent as ${credential.as}` : 'none'
}

/** Why a backend cannot be called, in words. */
function problemOf({ problem }: TeamBackend): string {
  if (problem === 'host_not_allowed') return 'not called: the operator does not allow its host any more'
  return problem === 'credential_unreadable' ? 'not called: set its credential again' : ''
}

/** Adds or changes a backend. Its stored credential stays when no option names another one. */
async function addBackend(cli: Cli, name: string, url: string, options: AddOptions): Promise<void> {
  const { control, team } = await openTeam(cli, options)
  const { dialect: dialects, basePath, credentialFile, withoutCredential, as } = options
  if (as && credentialFile === undefined) throw wrongUsage('--as needs a credential. Add --credential-file.')
  const value = credentialFile === undefined ? null : (await readInput(cli, credentialFile)).trim()
  const credential = value === null ? null : { value, ...(as && { as }) }
  const params = { path: { team, name: toNameInTeam(team, name) } }
  const body = {
    dialects,
    url,
    ...(basePath && { basePath }),
    ...((credential ?? withoutCredential) && { credential }),
  }
  const backend = await unwrap(control.PUT('/v1/teams/{team}/backends/{name}', { params, body }))
  if (options.json) return cli.output.json(backend)
  cli.output.print(`${backend.name} can serve models of ${team} in a few seconds.`)
  cli.output.print(`Add one: ${withSameTarget(`svc models add NAME --serve ${backend.name}=MODEL`, options)}`)
}

async function removeBackend(cli: Cli, given: string, options: TeamOptions): Promise<void> {
  const { control, team } = await openTeam(cli, options)
  const name = toNameInTeam(team, given)
  const params = { path: { team, name } }
  const done = await unwrap(control.DELETE('/v1/teams/{team}/backends/{name}', { params }))
  if (options.json) return cli.output.json(done)
  cli.output.print(`${name} is removed from ${team}, with its credential.`)
}
