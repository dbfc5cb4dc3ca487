import { Command, InvalidArgumentError } from 'commander'
import type { Cli, GlobalOptions, MakeCommand } from '../command-line.ts'
import { openDeployment } from '../deployment.ts'
import type { Deployment } from '../deployment.ts'
import { CommandError } from '../failures.ts'
import { toLocalTime } from '../local-time.ts'
import { unwrap } from '../../sdk/index.ts'

type Options = GlobalOptions & { readonly json?: boolean }
type Shown = Options & { readonly print?: boolean; readonly days?: number }
type CreateOptions = Shown & { readonly team?: string; readonly model?: readonly string[] }
type RotateOptions = Shown & { readonly overlap?: number }

export const makeKeys: MakeCommand = (cli) =>
  new Command('keys')
    .description('List your API keys, for programs that cannot run svc token.')
    .option('--json', 'print JSON')
    .action((_options: object, command: Command) => listKeys(cli, command.optsWithGlobals<Options>()))
    .addCommand(
      new Command('create')
        .description('Create an API key. It is shown once.')
        .argument('<name>', 'what the key is for, such as the name of a program')
        .option('--team <team>', '@organization/name; the team of your sign-in unless given')
        .option('--model <models...>', 'the only models that the key may call')
        .option('--days <days>', 'after how many days it stops working; 90 unless given', toWholeNumber)
        .option('--print', 'print only the key')
        .action((name: string, _options: object, command: Command) =>
          createKey(cli, name, command.optsWithGlobals<CreateOptions>()),
        ),
    )
    .addCommand(
      new Command('rotate')
        .description('Replace an API key by a new one. The old one works for a day more.')
        .argument('<id>', 'the ID of the list, or the start of it')
        .option('--overlap <seconds>', 'how long the old key still works; one day unless given', toWholeNumber)
        .option('--days <days>', 'after how many days the new key stops working; 90 unless given', toWholeNumber)
        .option('--print', 'print only the key')
        .action((id: string, _options: object, command: Command) =>
          rotateKey(cli, id, command.optsWithGlobals<RotateOptions>()),
        ),
    )
    .addCommand(
      new Command('revoke')
        .description('Revoke an API key.')
        .argument('<id>', 'the ID of the list, or the start of it')
        .action((id: string, _options: object, command: Command) =>
          revokeKey(cli, id, command.optsWithGlobals<Options>()),
        ),
    )

function toWholeNumber(text: string): number {
  if (!/^\d{1,6}$/.test(text)) throw new InvalidArgumentError('Give a whole number.')
  return Number(text)
}

async function listKeys({ environment, output }: Cli, { url, json }: Options): Promise<void> {
  const { control } = await openDeployment(environment.folder, url)
  const { keys } = await unwrap(control.GET('/v1/keys'))
  if (json) return output.json(keys)
  if (keys.length === 0) return output.print('You have no API keys. Create one: svc keys create NAME')
  output.table(
    ['ID', 'NAME', 'KEY', 'TEAM', 'MODELS', 'LAST USED', 'EXPIRES', ''],
    keys.map((key) => [
      key.id,
      key.name,
      `${key.prefix}...`,
      key.team,
      key.models?.join(', ') ?? 'all',
      key.lastUsedAt === null ? 'never' : toLocalTime(key.lastUsedAt),
      toLocalTime(key.expiresAt),
      key.replacedBy === null ? '' : 'rotated',
    ]),
  )
}

type NewKey = { readonly key: string; readonly info: { readonly name: string; readonly expiresAt: string } }

async function createKey({ environment, output }: Cli, name: string, options: CreateOptions): Promise<void> {
  const { url, team, model, days } = options
  const { control } = await openDeployment(environment.folder, url)
  const body = {
    name,
    ...(team !== undefined && { team }),
    ...(model && { models: [...model] }),
    ...(days !== undefined && { expiresInDays: days }),
  }
  showKey(output, await unwrap(control.POST('/v1/keys', { body })), options)
}

async function rotateKey({ environment, output }: Cli, start: string, options: RotateOptions): Promise<void> {
  const { url, overlap, days } = options
  const deployment = await openDeployment(environment.folder, url)
  const { id } = await findKey(deployment, start)
  const body = {
    ...(overlap !== undefined && { overlapSeconds: overlap }),
    ...(days !== undefined && { expiresInDays: days }),
  }
  const rotated = deployment.control.POST('/v1/keys/{id}/rotate', { params: { path: { id } }, body })
  showKey(output, await unwrap(rotated), options)
}

/** The key on stdout, so that it can be piped, and what to know about it on stderr. */
function showKey(output: Cli['output'], made: NewKey, { json, print }: Shown): void {
  if (json) return output.json(made)
  output.print(made.key)
  if (print) return
  const { name, expiresAt } = made.info
  output.note(`The API key "${name}" works until ${toLocalTime(expiresAt)}. It is not shown again.`)
}

async function revokeKey({ environment, output }: Cli, start: string, { url, json }: Options): Promise<void> {
  const deployment = await openDeployment(environment.folder, url)
  const { id, name } = await findKey(deployment, start)
  const done = await unwrap(deployment.control.DELETE('/v1/keys/{id}', { params: { path: { id } } }))
  if (json) return output.json(done)
  output.print(`Revoked: ${name} (${id}).`)
}

async function findKey({ control }: Deployment, start: string) {
  const { keys } = await unwrap(control.GET('/v1/keys'))
  const [key, another] = keys.filter(({ id }) => id.startsWith(start))
  if (!key) throw new CommandError(`No API key of yours has the ID ${start}. Run: svc keys`)
  if (another) throw new CommandError(`Several API keys have an ID that starts with ${start}. Give more of it.`)
  return key
}
