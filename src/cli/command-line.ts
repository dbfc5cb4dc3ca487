import { Command, CommanderError } from 'commander'
import packageJson from '../../package.json' with { type: 'json' }
import { readEnvironment } from './environment.ts'
import type { Environment } from './environment.ts'
import { EXIT, toCommandError } from './failures.ts'
import { makeOutput } from './output.ts'
import type { Output } from './output.ts'

/** What every command is given. */
export type Cli = { readonly environment: Environment; readonly output: Output }

/** Options that every command of people takes. */
export type GlobalOptions = { readonly url?: string }

/** Makes one command: its arguments, its help and what it does. */
export type MakeCommand = (cli: Cli) => Command

/** The commands by name. Each is loaded when it is needed, so that `svc token` starts as fast as it can. */
export type CommandTable = Readonly<Record<string, () => Promise<MakeCommand>>>

/**
 * Runs the command that the arguments name. Sets the exit status: 0 worked, 1 failed, 2 wrong usage, 3 not signed in.
 */
export async function runCommandLine(table: CommandTable, args = process.argv.slice(2)): Promise<void> {
  const environment = readEnvironment()
  const output = makeOutput(environment)
  // A reader that has seen enough, as in `svc models | head -1`, is no failure.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : EXIT.failed))
  try {
    const program = makeProgram()
    for (const make of await loadCommands(table, args))
      program.addCommand(inherit(make({ environment, output }), program))
    await program.parseAsync(args, { from: 'user' })
  } catch (error) {
    fail(error, output)
  }
}

/** The help of a subcommand such as `svc keys create` also shows the options of the commands above it. */
const HELP = { showGlobalOptions: true }

function makeProgram(): Command {
  return new Command('svc')
    .description('One login and one base URL for every coding agent and SDK that a team uses.')
    .option('--url <url>', 'the deployment to use; the one of the last login unless given')
    .version(packageJson.version, '-V, --version', 'print the version')
    .configureHelp(HELP)
    .showHelpAfterError('Run with --help to see how it is used.')
    .exitOverride()
}

/** The one command that is named; all of them for the help, and for a name that does not exist. */
async function loadCommands(table: CommandTable, args: readonly string[]): Promise<MakeCommand[]> {
  const named = args.find((arg, index) => !arg.startsWith('-') && args[index - 1] !== '--url') ?? ''
  const load = Object.hasOwn(table, named) ? table[named] : undefined
  return Promise.all(load ? [load()] : Object.values(table).map((each) => each()))
}

/** A command that was made elsewhere does not take over these settings by itself; its own subcommands need them too. */
function inherit(command: Command, parent: Command): Command {
  command.copyInheritedSettings(parent)
  for (const child of command.commands) inherit(child, command)
  return command
}

/** Failures that people can act on are told in a sentence. Anything else is a bug and shows where it happened. */
function fail(error: unknown, output: Output): void {
  if (error instanceof CommanderError) {
    process.exitCode = error.exitCode === 0 ? 0 : EXIT.wrongUsage
    return
  }
  const known = toCommandError(error)
  output.note(known ? output.noteStyle('red', known.message) : String(error instanceof Error ? error.stack : error))
  process.exitCode = known?.exitStatus ?? EXIT.failed
}
