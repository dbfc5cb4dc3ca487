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

/** The result of one check. `text` says what was found and, for a problem, how to fix it. */
type Finding = {
  readonly state: 'ok' | 'warning' | 'problem'
  readonly about: string
  readonly text: string
}

export const makeDoctor: MakeCommand = (cli) =>
  new Command('doctor')
    .description('Check the setup of this machine, and say what is wrong and how to fix it.')
    .option('--json', 'print JSON')
    .action((_options: object, command: Command) => runChecks(cli, command.optsWithGlobals<Options>()))

async function runChecks(cli: Cli, { url, json }: Options): Promise<void> {
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

/**
 * Checks the sign-in, the control plane, the session and the gateway. Each needs the one before, so the first error
 * ends it.
 */
async function checkDeployment({ folder }: Environment, given?: string): Promise<Finding[]> {
  const findings: Finding[] = []
  let about = 'sign-in'
  try {
    const deployment = await openDeployment(folder, given)
    const { account, team } = deployment.profile
    about = 'control plane'
    findings.push(...(await checkControlPlane(deployment.url)))
    about = 'sign-in'
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

/** A larger difference of the clocks breaks logins and certificates. */
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
          `The clock of this machine is ${Math.abs(offSeconds)} s ${direction} that of ${url}. Correct it.`,
        )
      : ok('clock', `Within ${MAX_CLOCK_SECONDS} s of the clock of ${url}.`),
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

/** Checks the vendors' backends: one warning for each fault, or one line that names them all. */
function checkBackends(backends: readonly Backend[]): Finding[] {
  const failing = backends.flatMap((backend) => {
    const fault = faultOf(backend)
    return fault === null ? [] : [warning('backend', `${backend.name} ${fault}`)]
  })
  const isFine = failing.length === 0 && backends.length > 0
  return isFine ? [ok('backends', `No known faults: ${backends.map(({ name }) => name).join(', ')}.`)] : failing
}

/** What is wrong with a backend, and what to do; null when no fault is known. */
function faultOf({ state, breaker, lastError }: Backend): string | null {
  const last = lastError ? ` Its last error was ${lastError.result}, at ${lastError.at}.` : ''
  if (state === 'not_configured') return 'is not called, because the gateway has no credential for it. Set it there.'
  if (state === 'unavailable') return `cannot be reached.${last} Check its URL and the network of the gateway.`
  if (breaker === 'closed') return null
  return `has failed repeatedly, so it is tried last.${last} Check the server, and your account there.`
}

/** Warns of environment variables that override the settings, or that have no effect here. */
function checkVariables({ variables }: Environment): Finding[] {
  const isSet = (name: string) => Boolean(variables[name])
  const findings: Finding[] = []
  if (isSet('ANTHROPIC_API_KEY')) {
    findings.push(
      warning(
        'environment',
        'ANTHROPIC_API_KEY is set: claude uses it instead of the settings of svc setup. Unset it, or use svc run.',
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
    : warning(name, `${written}, which svc setup wrote, does not exist any more. Run: svc setup ${name} --write`)
}
