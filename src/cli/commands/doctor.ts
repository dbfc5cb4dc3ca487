import { existsSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import path from 'node:path'
import { Command } from 'commander'
import { systemClock } from '../../kernel/clock.ts'
import { unwrap } from '../../sdk/index.ts'
import type { Backend } from '../../sdk/index.ts'
import { AGENT_NAMES, AGENTS } from '../agents/agents.ts'
import type { Cli, GlobalOptions, MakeCommand } from '../command-line.ts'
import { openDeployment } from '../deployment/deployment.ts'
import type { Deployment } from '../deployment/deployment.ts'
import { sendRequest } from '../deployment/http.ts'
import type { Environment } from '../environment.ts'
import { CommandError, EXIT, toCommandError } from '../failures.ts'
import { findWritten } from '../setup/settings-file.ts'

type Options = GlobalOptions & { readonly json?: boolean }

/** One thing that was looked at: what is so, and where it is wrong, how to fix it. */
type Finding = {
  readonly state: 'ok' | 'warning' | 'problem'
  readonly about: string
  readonly text: string
}

export const makeDoctor: MakeCommand = (cli) =>
  new Command('doctor')
    .description('Check the set-up of this machine, and say what is wrong and how to fix it.')
    .option('--json', 'print JSON')
    .action((_options: object, command: Command) => examine(cli, command.optsWithGlobals<Options>()))

async function examine(cli: Cli, { url, json }: Options): Promise<void> {
  const { environment, output } = cli
  const findings = await output.busy('Checking', async () => [
    await checkFolder(environment),
    ...(await checkDeployment(environment, url)),
    ...checkVariables(environment),
    ...(await Promise.all(AGENT_NAMES.map((name) => checkAgent(environment, name)))),
  ])
  if (json) output.json(findings)
  else for (const finding of findings) output.print(lineOf(cli, finding))
  const problems = findings.filter(({ state }) => state === 'problem').length
  if (problems > 0)
    throw new CommandError(`${problems} ${problems === 1 ? 'problem' : 'problems'} to fix.`, EXIT.failed)
}

const COLOURS = { ok: 'green', warning: 'yellow', problem: 'red' } as const

function lineOf({ output }: Cli, { state, about, text }: Finding): string {
  return `${output.style(COLOURS[state], state.padEnd(8))} ${about.padEnd(14)} ${text}`
}

const ok = (about: string, text: string): Finding => ({ state: 'ok', about, text })
const warning = (about: string, text: string): Finding => ({ state: 'warning', about, text })
const problem = (about: string, text: string): Finding => ({ state: 'problem', about, text })

async function checkFolder({ folder }: Environment): Promise<Finding> {
  const found = await stat(folder).catch(() => null)
  if (!found) return ok('credentials', `None yet; they will be kept in ${folder}.`)
  const isOpen = process.platform !== 'win32' && (found.mode & 0o077) !== 0
  return isOpen
    ? problem('credentials', `Other users can read ${folder}. Run: chmod 700 ${folder}`)
    : ok('credentials', `Kept in ${folder}.`)
}

/** From the control plane to a model, in the order in which one needs the other; ends at the first problem. */
async function checkDeployment({ folder }: Environment, given?: string): Promise<Finding[]> {
  const findings: Finding[] = []
  let about = 'login'
  try {
    const deployment = await openDeployment(folder, given)
    const { account, team } = deployment.profile
    about = 'control plane'
    findings.push(...(await checkControlPlane(deployment.url)))
    about = 'session'
    await deployment.accessToken()
    findings.push(ok(about, `Signed in to ${deployment.url} as ${account}, team ${team}.`))
    about = 'gateway'
    findings.push(...(await checkGateway(deployment)))
  } catch (error) {
    const known = toCommandError(error)
    if (!known) throw error
    findings.push(problem(about, known.message))
  }
  return findings
}

/** A clock that is further off than this breaks logins and certificates. */
const MAX_CLOCK_SECONDS = 60

async function checkControlPlane(url: string): Promise<Finding[]> {
  const response = await sendRequest(new Request(`${url}/healthz`))
  await response.body?.cancel()
  if (!response.ok)
    return [problem('control plane', `${url} answered ${response.status}. Check the URL, or tell your operator.`)]
  const date = response.headers.get('date')
  const offSeconds = date === null ? 0 : Math.round((systemClock.now().getTime() - Date.parse(date)) / 1000)
  const direction = offSeconds > 0 ? 'ahead of' : 'behind'
  return [
    ok('control plane', `${url} answers.`),
    Math.abs(offSeconds) > MAX_CLOCK_SECONDS
      ? problem(
          'clock',
          `The clock of this machine is ${Math.abs(offSeconds)} s ${direction} that of ${url}. Set it by the network.`,
        )
      : ok('clock', 'It agrees with the deployment.'),
  ]
}

async function checkGateway({ gateway, profile }: Deployment): Promise<Finding[]> {
  const [{ data }, { workers }, backends] = await Promise.all([
    unwrap(gateway.GET('/v1/models')),
    unwrap(gateway.GET('/v1/workers')),
    // Only admins may list them.
    gateway.GET('/v1/backends').then(({ data: listed }) => listed?.backends ?? null),
  ])
  const where = profile.gatewayUrl
  return [
    data.length > 0
      ? ok('gateway', `${where} answers; models that your team may use: ${data.length}.`)
      : problem('gateway', `${where} answers, but your team may use no model. Ask an admin of the team.`),
    ...workers.map(({ id, state }) =>
      state === 'ready' || state === 'not_configured'
        ? ok('local worker', `${id} is ${state.replaceAll('_', ' ')}.`)
        : warning(
            'local worker',
            `${id} is ${state.replaceAll('_', ' ')}. The operator can start the local inference server.`,
          ),
    ),
    ...(backends ? checkBackends(backends.filter(({ kind }) => kind === 'vendor')) : []),
  ]
}

/** The servers that calls go to, for admins; the local worker is not among them. */
function checkBackends(backends: readonly Backend[]): Finding[] {
  const failing = backends.flatMap((backend) => {
    const fault = faultOf(backend)
    return fault === null ? [] : [warning('backend', `${backend.name} ${fault}`)]
  })
  const isFine = failing.length === 0 && backends.length > 0
  return isFine ? [ok('backends', `No fault is known of: ${backends.map(({ name }) => name).join(', ')}.`)] : failing
}

/** What is wrong with a backend, and what to do; null: nothing that is known. */
function faultOf({ state, breaker, lastError }: Backend): string | null {
  const last = lastError ? ` Its last error was ${lastError.result}, at ${lastError.at}.` : ''
  if (state === 'not_configured') return 'is not called, because the gateway lacks its credential. Set it there.'
  if (state === 'unavailable') return `cannot be reached.${last} Check its address and the gateway's network.`
  if (breaker === 'closed') return null
  return `has failed repeatedly, so it is asked last.${last} Check it, or its account.`
}

/** Variables of the shell that lead programs elsewhere. */
function checkVariables({ variables }: Environment): Finding[] {
  const isSet = (name: string) => Boolean(variables[name])
  const findings: Finding[] = []
  if (isSet('ANTHROPIC_API_KEY')) {
    findings.push(
      warning(
        'environment',
        'ANTHROPIC_API_KEY is set: claude takes it instead of the settings of svc setup. svc run takes it out.',
      ),
    )
  }
  const proxy = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy'].find(isSet)
  if (proxy !== undefined && !isSet('NODE_USE_ENV_PROXY')) {
    findings.push(
      warning(
        'environment',
        `${proxy} is set, but svc does not use it. Set NODE_USE_ENV_PROXY=1 (Node.js 22.21 or newer) to use it.`,
      ),
    )
  }
  return findings
}

async function checkAgent({ folder, variables }: Environment, name: (typeof AGENT_NAMES)[number]): Promise<Finding> {
  const { program, installCommand } = AGENTS[name]
  const places = (variables['PATH'] ?? '').split(path.delimiter).map((place) => path.join(place, program))
  const found = places.find((place) => existsSync(place))
  if (found === undefined) return ok(name, `Not installed. To install it: ${installCommand}`)
  const written = await findWritten(folder, name)
  if (written === null) return ok(name, `Installed: ${found}. Start it with: svc run ${name}`)
  return existsSync(written)
    ? ok(name, `Installed: ${found}. Its settings in ${written} use this deployment.`)
    : warning(name, `${written} is gone, into which svc setup wrote. Run: svc setup ${name} --write`)
}
