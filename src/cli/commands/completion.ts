import { Argument, Command } from 'commander'
import type { Option } from 'commander'
import type { Cli, MakeCommand } from '../command-line.ts'

/** The script of each shell. It runs this command with the words of the line, the last of which is not whole yet. */
const SCRIPTS = {
  bash: `_svc() {
  local IFS=$'\\n'
  COMPREPLY=($("$1" completion bash -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _svc svc`,
  zsh: `_svc() {
  local -a found=(\${(f)"$("$words[1]" completion zsh -- "\${(@)words[2,CURRENT]}" 2>/dev/null)"})
  if (( $#found )); then compadd -a found; else _files; fi
}
compdef _svc svc`,
  fish: `function _svc
  set -l found (svc completion fish -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)
  if set -q found[1]; printf '%s\\n' $found; else; __fish_complete_path (commandline -ct); end
end
complete -c svc -f -a '(_svc)'`,
} as const

type Shell = keyof typeof SCRIPTS

/** Needs the other commands of the program. */
export const makeCompletion: MakeCommand = (cli) =>
  new Command('completion')
    .description('Print a script with which a shell completes commands and options.')
    .addArgument(new Argument('<shell>', 'the shell that runs the script').choices(Object.keys(SCRIPTS)))
    .argument('[words...]', 'after --, as the script does it: print what the last of these words can be instead')
    .action((shell: Shell, words: readonly string[], _options: object, { parent }: Command) =>
      complete(cli, parent, shell, words),
    )

function complete({ output }: Cli, program: Command | null, shell: Shell, words: readonly string[]): void {
  if (words.length === 0 || program === null) return output.print(SCRIPTS[shell])
  const found = findWords(program, words)
  if (found.length > 0) output.print(found.join('\n'))
}

/** The commands, options and values that the last word can be. */
function findWords(program: Command, words: readonly string[]): string[] {
  // bash makes three words of `--by=day`, and the other shells one. Those that it makes of a URL are ignored.
  const typed = words.filter((word) => word !== '=')
  const last = words.at(-1) === '=' ? '' : (typed.pop() ?? '')
  // What follows is for the agent.
  if (typed.includes('--')) return []
  const [, name = '', value = ''] = /^(--[^=]+)=(.*)$/.exec(last) ?? []
  if (name) return findCandidates(program, [...typed, name], value).map((word) => `${name}=${word}`)
  return findCandidates(program, typed, last)
}

function findCandidates(program: Command, typed: readonly string[], last: string): string[] {
  const { command, position, option } = findPlace(program, typed)
  return candidatesAt(command, position, option, last).filter((word) => word.startsWith(last))
}

/** Where the word behind these words stands: which argument of which command, or the value of which option. */
function findPlace(program: Command, words: readonly string[]) {
  let command = program
  let position = 0
  let option: Option | undefined
  for (const word of words) {
    if (option) option = undefined
    else if (word.startsWith('-'))
      option = optionsOf(command).find(({ required, long, short }) => required && [long, short].includes(word))
    else {
      const child = command.commands.find((each) => each.name() === word)
      // `svc help keys` is about the command that it names.
      if (!child && word !== 'help') position++
      command = child ?? command
    }
  }
  return { command, position, option }
}

function candidatesAt(command: Command, position: number, option: Option | undefined, last: string): string[] {
  if (option) return option.argChoices ?? []
  if (last.startsWith('-')) return optionsOf(command).map(({ long, short }) => long ?? short ?? '')
  const commands = command.createHelp().visibleCommands(command)
  return [...commands.map((each) => each.name()), ...(command.registeredArguments[position]?.argChoices ?? [])]
}

/** The options that the help of a command shows. */
function optionsOf(command: Command): Option[] {
  const help = command.createHelp()
  return [...help.visibleOptions(command), ...help.visibleGlobalOptions(command)]
}
