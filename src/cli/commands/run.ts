import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { Argument, Command } from 'commander'
import type { Agent } from '../agents/agent.ts'
import { AGENT_NAMES, AGENTS } from '../agents/agents.ts'
import type { AgentName } from '../agents/agents.ts'
import { openLocalGateway } from '../agents/local-gateway.ts'
import type { RunningLocalGateway } from '../agents/local-gateway.ts'
import { findAgentSettings } from '../agents/settings.ts'
import { actionOf } from '../command-line.ts'
import type { Cli, GlobalOptions, MakeCommand } from '../command-line.ts'
import { openDeployment } from '../deployment/deployment.ts'
import { CommandError } from '../failures.ts'

type Options = GlobalOptions & { readonly model?: string }

export const makeRun: MakeCommand = (cli) =>
  new Command('run')
    .description('Start a coding agent that uses this deployment. Its settings files are not changed.')
    .addArgument(new Argument('<agent>', 'the agent to start').choices(AGENT_NAMES))
    .argument('[args...]', 'arguments for the agent, after --')
    .option('--model <id>', 'the model to start with (default: the default model of your team)')
    .action(actionOf(cli, run))

/** Resolves when the agent has ended. Its exit status is that of the command. */
async function run(cli: Cli, name: AgentName, args: readonly string[], options: Options): Promise<void> {
  const { environment } = cli
  const deployment = await openDeployment(environment.folder, options.url)
  const settings = await findAgentSettings(deployment, environment, options.model)
  const agent = AGENTS[name]
  let local: RunningLocalGateway | null = null
  try {
    const launch = await agent.launch(settings, async () => {
      local = await openLocalGateway({ gatewayUrl: settings.gatewayUrl, accessToken: deployment.accessToken })
      return local
    })
    const variables = { ...environment.variables, ...launch.variables }
    cli.setExitStatus(await start(agent, [...launch.args, ...args], variables))
  } finally {
    // Assigned in a function, which the compiler does not follow.
    ;(local as RunningLocalGateway | null)?.close()
  }
}

/** Runs an agent on this terminal; the exit status is its own, or 128 and the number of the signal that ended it. */
function start(
  { program, installCommand }: Agent,
  args: readonly string[],
  env: Cli['environment']['variables'],
): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: 'inherit', env })
    child.once('error', (error: NodeJS.ErrnoException) =>
      reject(error.code === 'ENOENT' ? new CommandError(`${program} is not installed. Run: ${installCommand}`) : error),
    )
    child.once('exit', (code, signal) => resolve(code ?? 128 + (signal ? constants.signals[signal] : 0)))
    // The terminal sends Ctrl-C to both processes. The agent decides what it does.
    process.on('SIGINT', () => undefined)
    for (const signal of ['SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal))
  })
}
