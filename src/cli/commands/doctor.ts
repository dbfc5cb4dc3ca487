import { Command } from 'commander'
import { AGENT_NAMES } from '../agents/agents.ts'
import { actionOf } from '../command-line.ts'
import type { Cli, GlobalOptions, MakeCommand } from '../command-line.ts'
import { checkDeployment } from '../doctor/check-deployment.ts'
import { checkAgent, checkFolder, checkVariables } from '../doctor/check-machine.ts'
import type { Finding } from '../doctor/finding.ts'
import { CommandError } from '../failures.ts'

type Options = GlobalOptions & { readonly json?: boolean }

export const makeDoctor: MakeCommand = (cli) =>
  new Command('doctor')
    .description('Check the setup of this machine, and say what is wrong and how to fix it.')
    .option('--json', 'print JSON')
    .action(actionOf(cli, runChecks))

async function runChecks(cli: Cli, { url, json }: Options): Promise<void> {
  const { environment, output } = cli
  const findings = await output.busy('Checking', async () => {
    const folder = await checkFolder(environment)
    const { findings: ofDeployment, callable } = await checkDeployment(cli, url)
    const agents = await Promise.all(AGENT_NAMES.map((name) => checkAgent(environment, name, { callable, url })))
    return [folder, ...ofDeployment, ...checkVariables(environment), ...agents]
  })
  if (json) output.json(findings)
  else for (const finding of findings) output.print(lineOf(cli, finding))
  const problems = findings.filter(({ state }) => state === 'problem').length
  if (problems > 0) throw new CommandError(`${problems} ${problems === 1 ? 'problem' : 'problems'} to fix.`)
}

const COLOURS = { ok: 'green', warning: 'yellow', problem: 'red' } as const

function lineOf({ output }: Cli, { state, about, text }: Finding): string {
  return `${output.style(COLOURS[state], state.padEnd(8))} ${about.padEnd(14)} ${text}`
}
