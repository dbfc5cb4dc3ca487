import { Command } from 'commander'
import { unwrap } from '../../sdk/index.ts'
import type { DirectoryPlan } from '../../sdk/index.ts'
import { readInput } from '../arguments/read-input.ts'
import { actionOf } from '../command-line.ts'
import type { Cli, GlobalOptions, MakeCommand } from '../command-line.ts'
import { openDeployment } from '../deployment/deployment.ts'
import { CommandError, EXIT, wrongUsage } from '../failures.ts'
import { withSameTarget } from '../same-target.ts'
import { printable } from '../terminal/output.ts'
import { loadPrompts } from '../terminal/prompts.ts'
import { quoteForShell } from '../terminal/shell.ts'

type Options = GlobalOptions & { readonly json?: boolean; readonly yes?: boolean }

const FILE = 'the file, in YAML or JSON; - reads standard input'

export const makeDirectory: MakeCommand = (cli) =>
  new Command('directory')
    .description('Change the members, models and default models of teams together, with a file.')
    .addCommand(
      new Command('plan')
        .description('Show what applying a file would change. Changes nothing.')
        .argument('<file>', FILE)
        .option('--json', 'print JSON')
        .action(actionOf(cli, showPlan)),
    )
    .addCommand(
      new Command('apply')
        .description('Show what applying a file changes, ask, and apply it.')
        .argument('<file>', FILE)
        .option('--yes', 'apply it without asking')
        .option('--json', 'print what was changed as JSON; needs --yes')
        .action(actionOf(cli, applyFile)),
    )

async function showPlan(cli: Cli, file: string, { url, json }: Options): Promise<void> {
  const { control } = await openDeployment(cli, url)
  const plan = await unwrap(control.POST('/v1/directory/plan', { body: { directory: await readInput(cli, file) } }))
  if (json) return cli.output.json(plan)
  printPlan(cli, plan)
  if (plan.changes.length === 0) return
  const given = file === '-' ? '- --yes' : quoteForShell(file, cli.environment.platform)
  const input = file === '-' ? ', with the same text on standard input' : ''
  const command = withSameTarget(`svc directory apply ${given}`, { url })
  cli.output.print(`${countOf(plan)} to apply. Run: ${command}${input}`)
}

/** Applies exactly what was shown: the service refuses when the teams have changed meanwhile. */
async function applyFile(cli: Cli, file: string, { url, json, yes }: Options): Promise<void> {
  const { output } = cli
  if (json && !yes) throw wrongUsage('With --json the command does not ask. Add --yes to apply the file.')
  const directory = await readInput(cli, file)
  const { control } = await openDeployment(cli, url)
  const plan = await unwrap(control.POST('/v1/directory/plan', { body: { directory } }))
  if (!json) printPlan(cli, plan)
  if (plan.changes.length === 0) return json ? output.json(plan) : undefined
  if (!yes) await confirm(cli, plan, file)
  const body = { directory, fingerprint: plan.fingerprint }
  const applied = await unwrap(control.POST('/v1/directory/apply', { body }))
  if (json) return output.json(applied)
  output.print(`${countOf(applied)} applied.`)
}

/** Asks for confirmation. That is not possible when the file came from standard input. */
async function confirm({ output }: Cli, plan: DirectoryPlan, file: string): Promise<void> {
  if (!output.isInteractive || file === '-')
    throw wrongUsage('Nothing was changed. Add --yes to apply it without asking.')
  const { confirm: ask, isCancel } = await loadPrompts()
  const answer = await ask({ message: `Apply ${countOf(plan)}?`, initialValue: false, output: process.stderr })
  if (answer !== true) throw new CommandError('Nothing was changed.', isCancel(answer) ? EXIT.interrupted : EXIT.failed)
}

function countOf({ changes }: DirectoryPlan): string {
  return changes.length === 1 ? '1 change' : `${changes.length} changes`
}

const SIGNS = { added: ['+', 'green'], changed: ['~', 'yellow'], removed: ['-', 'red'] } as const

/** Prints for each team one line for each change, and then what only the directory file of the operator can change. */
function printPlan({ output }: Cli, { changes, readOnly }: DirectoryPlan): void {
  if (changes.length === 0) output.print('Nothing to change.')
  for (const team of new Set([...changes, ...readOnly].map((entry) => entry.team))) {
    output.print(output.style('bold', printable(team)))
    for (const entry of changes.filter((change) => change.team === team)) {
      const [sign, color] = SIGNS[entry.change]
      output.print(`  ${output.style(color, sign)} ${printable(toWords(entry))}`)
    }
    for (const { kind, name, listed } of readOnly.filter((entry) => entry.team === team)) {
      const what = kind === 'member' ? `member ${name} stays ${listed}` : `default model stays ${listed}`
      output.print(`  = ${printable(what)}: the directory file of the operator says so`)
    }
  }
}

function toWords({ kind, change, name, before, after }: DirectoryPlan['changes'][number]): string {
  if (kind === 'model') return `model ${name ?? ''}`
  if (kind === 'default_model') return `default model ${[before, after].map((model) => model ?? 'none').join(' -> ')}`
  const roles = change === 'changed' ? `${before} -> ${after}` : (before ?? after ?? '')
  return `member ${name ?? ''} (${roles})`
}
