import { inspect } from 'node:util'
import { Command, CommanderError } from 'commander'
import type { HelpConfiguration } from 'commander'
import packageJson from '../../package.json' with { type: 'json' }
import { readEnvironment } from './environment.ts'
import type { Environment } from './environment.ts'
import { EXIT, findFileProblem, toCommandError } from './failures.ts'
import { makeOutput } from './terminal/output.ts'
import type { Output, Streams } from './terminal/output.ts'

/** What every command gets: the environment and the streams of the process. */
export type Cli = {
  readonly environment: Environment
  readonly output: Output
  /** Standard input. */
  readonly input: Streams['stdin']
  /** Sets the exit status of a command that worked; 0 unless it is set. */
  setExitStatus(status: number): void
}

/** Options that every command of people takes. */
export type GlobalOptions = { readonly url?: string }

/** Makes one command: its arguments, its help and what it does. */
export type MakeCommand = (cli: Cli) => Command

/** The commands by name. Each is loaded when it is needed, so that `svc token` starts as fast as it can. */
export type CommandTable = Readonly<Record<string, () => Promise<MakeCommand>>>

/** Shows the commands of a table below a heading of the help. `help`: what differs in the help of each command. */
export function inGroup(heading: string, table: CommandTable, help: HelpConfiguration = {}): CommandTable {
  const grouped = Object.entries(table).map(([name, load]) => {
    const loadGrouped = async (): Promise<MakeCommand> => {
      const make = await load()
      return (cli) => make(cli).helpGroup(heading).configureHelp(help)
    }
    return [name, loadGrouped] as const
  })
  return Object.fromEntries(grouped)
}

/**
 * The action of a command: runs `act` with the arguments, and with the options of the command and of those above it.
 * commander gives an action the arguments, the command's own options and the command.
 */
export function actionOf(cli: Cli, act: (cli: Cli, ...given: never[]) => Promise<void>) {
  return (...passed: unknown[]): Promise<void> => {
    const command = passed.at(-1) as Command
    return act(cli, ...([...passed.slice(0, -2), command.optsWithGlobals()] as never[]))
  }
}

/** What the command line is started with. */
export type Invocation = Streams & { readonly args: readonly string[]; readonly environment: Environment }

/** Runs the command that this process was started with, and ends the process with its exit status. */
export async function runProcess(table: CommandTable): Promise<void> {
  const { argv, stdin, stdout, stderr } = process
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    // The reader of a pipe may close it early, as in `svc models | head -1`. That is no failure.
    if (error.code === 'EPIPE') process.exit(0)
    stderr.write(`The output cannot be written: ${findFileProblem(error) ?? error.message}.\n`)
    process.exit(EXIT.failed)
  })
  // Messages that cannot be written are lost, and the command goes on: its result and its exit status matter more.
  stderr.on('error', () => undefined)
  const invocation = { args: argv.slice(2), environment: readEnvironment(), stdin, stdout, stderr }
  const status = await runCommandLine(table, invocation)
  await Promise.all([stdout, stderr].map(flush))
  // A request that was given up would keep the process alive for minutes where a proxy does not answer.
  process.exit(status)
}

/** Resolves when everything before has been written. */
function flush(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => stream.write('', () => resolve()))
}

/**
 * Runs the command that the arguments name. Resolves with the exit status: 0 worked, 1 failed, 2 wrong usage, 3 not
 * signed in.
 */
export async function runCommandLine(table: CommandTable, invocation: Invocation): Promise<number> {
  const { environment, stdin } = invocation
  const args = withHelpOption(table, invocation.args)
  const output = makeOutput(environment, invocation)
  const program = makeProgram(invocation, output)
  let status = 0
  const cli: Cli = { environment, output, input: stdin, setExitStatus: (given) => void (status = given) }
  try {
    for (const make of await loadCommands(table, args)) program.addCommand(inherit(make(cli), program))
    await program.parseAsync(args, { from: 'user' })
    return status
  } catch (error) {
    return fail(error, output, program.opts<GlobalOptions>().url)
  }
}

/** The help of a subcommand such as `svc keys create` also shows the options of the commands above it. */
const HELP = { showGlobalOptions: true }

function makeProgram({ stdout, stderr }: Streams, output: Output): Command {
  return new Command('svc')
    .description('One login and one base URL for every coding agent and SDK that a team uses.')
    .option('--url <url>', 'the deployment to use (default: the one of the last login)')
    .version(packageJson.version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print the help')
    .helpCommand('help [command]', 'Print the help of a command.')
    .configureHelp(HELP)
    .configureOutput({
      writeOut: (text) => stdout.write(text),
      writeErr: (text) => stderr.write(text),
      outputError: (text, write) => write(output.noteStyle('red', toSentence(text))),
    })
    .showHelpAfterError('Run: svc --help')
    .exitOverride()
}

/**
 * Messages of commander begin with `error: ` and a small letter, and some have no full stop. It calls the value of an
 * argument a "command-argument value".
 */
function toSentence(message: string): string {
  return message
    .replace(/^error: (.)/, (_prefix, first: string) => first.toUpperCase())
    .replace(/^(.*[^.\n])$/m, '$1.')
    .replace(/^Too many arguments for '(.*)'\. Expected 0 arguments but got \d+: (.*)\.$/m, "'$1' does not take '$2'.")
    .replace(/^Command-argument value '(.*)' is invalid for argument '(.*?)'\./, "'$1' is not a valid $2.")
}

/** `help keys create` as `keys create --help`. The help command of commander does not know subcommands. */
function withHelpOption(table: CommandTable, args: readonly string[]): readonly string[] {
  const [first, name, ...names] = args
  if (first !== 'help' || name === undefined) return args
  return Object.hasOwn(table, name) ? [name, ...names, '--help'] : [name]
}

/**
 * Loads only the command that the arguments name. Loads all commands for a name that does not exist, for the help of
 * the program, which `svc --help keys` prints too, and for `svc completion`.
 */
async function loadCommands(table: CommandTable, args: readonly string[]): Promise<MakeCommand[]> {
  const at = args.findIndex((arg, index) => !arg.startsWith('-') && args[index - 1] !== '--url')
  const named = args[at] ?? ''
  const isForProgram = named === 'completion' || args.slice(0, at).some((arg) => arg === '-h' || arg === '--help')
  const load = Object.hasOwn(table, named) && !isForProgram ? table[named] : undefined
  return Promise.all(load ? [load()] : Object.values(table).map((each) => each()))
}

/**
 * Gives a command and its subcommands the settings of the program, which `addCommand` does not do. `path`: what people
 * type before the name of the command.
 */
function inherit(command: Command, parent: Command, path = parent.name()): Command {
  const help = { ...parent.configureHelp(), ...command.configureHelp() }
  const typed = `${path} ${command.name()}`
  command.copyInheritedSettings(parent).configureHelp(help).showHelpAfterError(`Run: ${typed} --help`)
  for (const child of command.commands) inherit(child, command, typed)
  checkRequiredLast(command)
  return correctErrors(command)
}

/**
 * Has the required options checked after the unknown ones. commander checks them first, so for `--serv` it would say
 * that `--serve` is missing, in place of suggesting it.
 */
function checkRequiredLast(command: Command): void {
  for (const option of command.options.filter(({ mandatory }) => mandatory)) {
    option.makeOptionMandatory(false)
    command.hook('preAction', () => {
      if (command.getOptionValue(option.attributeName()) === undefined)
        command.error(`error: required option '${option.flags}' not specified`)
    })
  }
}

/**
 * Corrects messages of commander. It takes a subcommand that does not exist for an argument too many, and does not say
 * how the options of an agent are passed on.
 */
function correctErrors(command: Command): Command {
  const { outputError } = command.configureOutput()
  const names = command.commands.map((child) => child.name()).join(', ')
  const passesOn = command.registeredArguments.some(({ variadic }) => variadic)
  const correct = (text: string) => {
    if (names) return text.replace(TOO_MANY, `error: '$1' has no command '$2'. Its commands: ${names}.`)
    return passesOn ? text.replace(UNKNOWN_OPTION, '$&. To pass it on, write it after --') : text
  }
  return command.configureOutput({ outputError: (text, write) => outputError?.(correct(text), write) })
}

const TOO_MANY = /^error: too many arguments for '(.*)'\. Expected 0 arguments but got \d+: (.*?)(?:, .*)?\.$/m
const UNKNOWN_OPTION = /^error: unknown option '.*'$/m

/**
 * Prints a failure and returns the exit status. A failure that people can act on is one message. Any other error is a
 * bug, and it is printed with its stack and its causes.
 */
function fail(error: unknown, output: Output, url: string | undefined): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT.wrongUsage
  const known = toCommandError(error, url)
  if (known) output.note(output.noteStyle('red', known.message))
  else output.note(inspect(error))
  return known?.exitStatus ?? EXIT.failed
}
