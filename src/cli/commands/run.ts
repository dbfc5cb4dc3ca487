import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { isatty } from 'node:tty'
import { Argument, Command } from 'commander'
import { codeOf } from '../../kernel/error-code.ts'
import type { Agent, Launch } from '../agents/agent.ts'
import { AGENT_NAMES, AGENTS } from '../agents/agents.ts'
import type { AgentName } from '../agents/agents.ts'
import { openLocalGateway } from '../agents/local-gateway.ts'
import { findProgram } from '../agents/program.ts'
import { findAgentSettings } from '../agents/settings.ts'
import { actionOf } from '../command-line.ts'
import type { Cli, GlobalOptions, MakeCommand } from '../command-line.ts'
import { openDeployment } from '../deployment/deployment.ts'
import type { Environment } from '../environment.ts'
import { CommandError } from '../failures.ts'

type Options = GlobalOptions & { readonly model?: string }

export const makeRun: MakeCommand = (cli) =>
  new Command('run')
    .description('Start a coding agent that uses this deployment. Its settings files are not changed.')
    .addArgument(new Argument('<agent>', 'the agent to start').choices(AGENT_NAMES))
    .argument('[args...]', "arguments for the agent, after -- ('--' in PowerShell)")
    .option('--model <id>', 'the model to start with (default: the default model of your team)')
    .action(actionOf(cli, run))

/** Resolves when the agent has ended. Its exit status is that of the command. */
async function run(cli: Cli, name: AgentName, args: readonly string[], options: Options): Promise<void> {
  const { environment } = cli
  const deployment = await openDeployment(cli, options.url)
  const { accessToken, renewAccessToken } = deployment
  const agent: Agent = AGENTS[name]
  const settings = await findAgentSettings(deployment, environment, options.model, agent.modelSuffix)
  const open = () => openLocalGateway({ gatewayUrl: settings.gatewayUrl, accessToken, renewAccessToken })
  const launch = await agent.launch(settings, open, environment)
  cli.setExitStatus(await start(agent, environment, { ...launch, args: [...launch.args, ...args] }))
}

/** Runs an agent on this terminal; the exit status is its own, or 128 and the number of the signal that ended it. */
async function start(
  { program, installCommand }: Agent,
  environment: Environment,
  { args, variables }: Launch,
): Promise<number> {
  const found = findProgram(program, environment)
  if (!found) throw new CommandError(`${program} is not installed. Run: ${installCommand}`)
  const env = { ...environment.variables, ...variables }
  const child = spawn(found.file, [...found.args, ...args], { stdio: 'inherit', env })
  const { shared, forwarded } = findSignals(environment)
  const ignore = () => undefined
  const forward = (signal: NodeJS.Signals) => child.kill(signal)
  for (const signal of shared) process.on(signal, ignore)
  for (const signal of forwarded) process.on(signal, forward)
  const ended = new Promise<number>((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) => resolve(code ?? 128 + (signal ? constants.signals[signal] : 0)))
  })
  try {
    return await ended
  } catch (error) {
    const reason = codeOf(error) ?? String(error)
    throw new CommandError(`${found.found} cannot be started (${reason}). To repair it: ${installCommand}`)
  } finally {
    for (const signal of shared) process.off(signal, ignore)
    for (const signal of forwarded) process.off(signal, forward)
  }
}

type Signals = { readonly shared: readonly NodeJS.Signals[]; readonly forwarded: readonly NodeJS.Signals[] }

/** Which signals the terminal sends to both processes, so that the agent decides what it does, and which to pass on. */
function findSignals({ platform }: Environment): Signals {
  if (platform === 'win32') return SIGNALS_ON_WINDOWS
  const isOnTerminal = [0, 1, 2].some((fd) => isatty(fd))
  return isOnTerminal ? SIGNALS_ON_TERMINAL : SIGNALS
}

/** An agent that gets SIGINT twice at one Ctrl-C may end. */
const SIGNALS_ON_TERMINAL: Signals = { shared: ['SIGINT'], forwarded: ['SIGTERM', 'SIGHUP'] }

/** Without a terminal, another program sends SIGINT, and only to this process. */
const SIGNALS: Signals = { shared: [], forwarded: ['SIGINT', 'SIGTERM', 'SIGHUP'] }

/** Closing the window sends SIGHUP to the agent too. A signal that this process sends would end the agent at once. */
const SIGNALS_ON_WINDOWS: Signals = { shared: ['SIGINT', 'SIGBREAK', 'SIGHUP'], forwarded: [] }
