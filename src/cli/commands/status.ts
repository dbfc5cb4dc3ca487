import { Command } from 'commander'
import { unwrap } from '../../sdk/index.ts'
import type { SvcClient } from '../../sdk/index.ts'
import { actionOf } from '../command-line.ts'
import type { Cli, GlobalOptions, MakeCommand } from '../command-line.ts'
import { countModels, listModels, openDeployment, refreshProfile } from '../deployment/deployment.ts'
import type { Deployment } from '../deployment/deployment.ts'
import { requireCommandError } from '../failures.ts'
import { toLocalTime } from '../terminal/local-time.ts'

type Options = GlobalOptions & { readonly json?: boolean }

export const makeStatus: MakeCommand = (cli) =>
  new Command('status')
    .description('Say who is signed in where, until when, and what can be reached.')
    .option('--json', 'print JSON')
    .action(actionOf(cli, showStatus))

async function showStatus(cli: Cli, { url, json }: Options): Promise<void> {
  const { output } = cli
  const deployment = await openDeployment(cli, url)
  const refreshed = refreshProfile(deployment)
  const gatewayOf = async () => deployment.gatewayAt((await refreshed).gatewayUrl)
  const [profile, account, gateway, workers] = await Promise.all([
    refreshed.catch(() => deployment.profile),
    check(() => findAccount(deployment), url),
    check(async () => findModels(await gatewayOf()), url),
    check(async () => findWorkers(await gatewayOf()), url),
  ])
  const tokens = await deployment.profiles.tokens(deployment.url).load()
  const others = (await deployment.profiles.list()).filter((other) => other !== deployment.url)
  const facts = { ...profile, tokenExpiresAt: tokens?.expiresAt ?? null, others }
  if (json) {
    output.json({ ...facts, controlPlane: account, gateway, workers })
  } else {
    const rows = [
      ['deployment', deployment.url],
      ['account', profile.account],
      ['team', profile.team],
      ['token until', tokens ? `${toLocalTime(tokens.expiresAt)}, renewed when needed` : 'none'],
      ['control plane', toText(account)],
      ['gateway', `${profile.gatewayUrl}: ${toText(gateway)}`],
      ['local worker', toText(workers)],
      ...others.map((other) => ['also known', `${other} (svc status --url ${other})`]),
    ]
    for (const [name = '', value = ''] of rows) output.print(`${output.style('dim', name.padEnd(14))}${value}`)
  }
  const failed = [account, gateway].find(({ ok }) => !ok)
  if (failed) cli.setExitStatus(failed.exitStatus)
}

type Check = { readonly ok: boolean; readonly detail: string; readonly exitStatus: number }

/** Runs a request, and says in words what it found or why it failed. */
async function check(attempt: () => Promise<string>, url: string | undefined): Promise<Check> {
  try {
    return { ok: true, detail: await attempt(), exitStatus: 0 }
  } catch (error) {
    const { message, exitStatus } = requireCommandError(error, url)
    return { ok: false, detail: message, exitStatus }
  }
}

const toText = ({ ok, detail }: Check) => (ok ? detail : `not usable. ${detail}`)

async function findAccount({ control }: Deployment): Promise<string> {
  const { user } = await unwrap(control.GET('/device'))
  return `reachable, signed in as ${user.role}`
}

async function findModels(gateway: SvcClient): Promise<string> {
  const models = countModels(await listModels(gateway))
  return `reachable, ${models} ${models === 1 ? 'model' : 'models'}`
}

async function findWorkers(gateway: SvcClient): Promise<string> {
  const { workers } = await unwrap(gateway.GET('/v1/workers'))
  return workers.map(({ id, state }) => `${id} ${state.replaceAll('_', ' ')}`).join(', ')
}
