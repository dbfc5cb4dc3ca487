import { Command } from 'commander'
import type { NewApiKey } from '../../sdk/index.ts'
import { findById, ID_HELP } from '../arguments/find-by-id.ts'
import { toTeam } from '../arguments/team-options.ts'
import { toDays, toWholeNumber } from '../arguments/whole-number.ts'
import { actionOf } from '../command-line.ts'
import type { Cli, GlobalOptions, MakeCommand } from '../command-line.ts'
import { openDeployment } from '../deployment/deployment.ts'
import { findGatewayWithoutDatabase } from '../deployment/gateway-database.ts'
import { findKeyOwner } from '../deployment/key-owner.ts'
import type { KeyOwner } from '../deployment/key-owner.ts'
import { CommandError, wrongUsage } from '../failures.ts'
import { withSameTarget } from '../same-target.ts'
import { toLocalTime } from '../terminal/local-time.ts'

type Options = GlobalOptions & { readonly service?: string; readonly team?: string; readonly json?: boolean }
type Shown = Options & { readonly print?: boolean; readonly days?: number }
type CreateOptions = Shown & { readonly model?: readonly string[] }
type RotateOptions = Shown & { readonly overlap?: number }

export const makeKeys: MakeCommand = (cli) =>
  new Command('keys')
    .description('List your API keys, for programs that cannot run svc token.')
    .option('--service <name>', 'keys of a service account instead of your own; for admins of its team')
    .option(
      '--team <team>',
      '@organization/name of a new key or of the service account (default: your own team)',
      toTeam,
    )
    .option('--json', 'print JSON')
    .action(actionOf(cli, listKeys))
    .addCommand(
      new Command('create')
        .description('Create an API key. It is shown once.')
        .argument('<name>', 'what the key is for, such as the name of a program')
        .option('--model <models...>', 'the only models that the key may call')
        .option('--days <days>', 'after how many days it stops working (default: 90)', toDays)
        .option('--print', 'print only the key')
        .action(actionOf(cli, createKey)),
    )
    .addCommand(
      new Command('rotate')
        .description('Replace an API key by a new one. The old one still works for a day.')
        .argument('<id>', ID_HELP)
        .option('--overlap <seconds>', 'how long the old key still works (default: one day)', toWholeNumber)
        .option('--days <days>', 'after how many days the new key stops working (default: 90)', toDays)
        .option('--print', 'print only the key')
        .action(actionOf(cli, rotateKey)),
    )
    .addCommand(
      new Command('revoke')
        .description('Revoke an API key.')
        .argument('<id>', ID_HELP)
        .action(actionOf(cli, revokeKey)),
    )

async function openOwner(cli: Cli, { url, service, team }: Options): Promise<KeyOwner> {
  return findKeyOwner(await openDeployment(cli, url), { url, service, team })
}

async function listKeys(cli: Cli, options: Options): Promise<void> {
  const { output } = cli
  const keys = await (await openOwner(cli, options)).list()
  if (options.json) return output.json(keys)
  if (keys.length === 0) return output.print(noKeys(options))
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

function noKeys(options: Options): string {
  const { service, team } = options
  const who = service === undefined ? 'You have' : `${service} has`
  const ofTeam = team === undefined ? '' : ` for ${team}`
  return `${who} no API keys${ofTeam}. Create one: ${withSameOwner('svc keys create NAME', options)}`
}

/** A command for people to run next, about keys of the same owner. */
function withSameOwner(command: string, options: Options): string {
  const ofService = options.service === undefined ? '' : ` --service ${options.service}`
  return withSameTarget(command + ofService, options)
}

async function createKey(cli: Cli, name: string, options: CreateOptions): Promise<void> {
  refuseTwoFormats(options)
  const { model, days, url, service, team } = options
  const deployment = await openDeployment(cli, url)
  const owner = await findKeyOwner(deployment, { url, service, team })
  const made = await owner.create({
    name,
    ...(model && { models: [...model] }),
    ...(days !== undefined && { expiresInDays: days }),
  })
  showKey(cli.output, made, options)
  const gatewayUrl = await findGatewayWithoutDatabase(deployment)
  if (gatewayUrl !== null) cli.output.note(`The gateway at ${gatewayUrl} has no database, so it refuses the key.`)
}

async function rotateKey(cli: Cli, start: string, options: RotateOptions): Promise<void> {
  refuseTwoFormats(options)
  const { overlap, days } = options
  const owner = await openOwner(cli, options)
  const { id } = await findKey(owner, start, options)
  const made = await owner.rotate(id, {
    ...(overlap !== undefined && { overlapSeconds: overlap }),
    ...(days !== undefined && { expiresInDays: days }),
  })
  showKey(cli.output, made, options)
}

function refuseTwoFormats({ json, print }: Shown): void {
  if (json && print) throw wrongUsage('--json prints JSON, and --print only the key. Give one of them.')
}

/** The key on stdout, so that it can be piped, and what to know about it on stderr. */
function showKey(output: Cli['output'], made: NewApiKey, { json, print }: Shown): void {
  if (json) return output.json(made)
  output.print(made.key)
  if (print) return
  const { name, expiresAt } = made.info
  output.note(`The API key "${name}" works until ${toLocalTime(expiresAt)}. It is not shown again.`)
}

async function revokeKey(cli: Cli, start: string, options: Options): Promise<void> {
  const owner = await openOwner(cli, options)
  const { id, name } = await findKey(owner, start, options)
  const done = await owner.revoke(id)
  if (options.json) return cli.output.json(done)
  cli.output.print(`Revoked: ${name} (${id}).`)
}

async function findKey(owner: KeyOwner, start: string, options: Options) {
  const key = findById(await owner.list(), start, { plural: 'API keys' })
  if (key) return key
  throw new CommandError(`No API key has the ID "${start}". Run: ${withSameOwner('svc keys', options)}`)
}
