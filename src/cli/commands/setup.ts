import { Argument, Command, Option } from 'commander'
import { AGENT_NAMES, AGENTS } from '../agents/agents.ts'
import type { AgentName } from '../agents/agents.ts'
import { findAgentSettings, isTemporary } from '../agents/settings.ts'
import type { Cli, GlobalOptions, MakeCommand } from '../command-line.ts'
import { openDeployment } from '../deployment.ts'
import { CommandError, wrongUsage } from '../failures.ts'
import { JsonTextError } from '../setup/json-object.ts'
import { removeSettings, writeSettings } from '../setup/settings-file.ts'
import type { Edit } from '../setup/settings-file.ts'
import { TomlTextError } from '../setup/toml-text.ts'

type Options = GlobalOptions & {
  readonly model?: string
  readonly write?: boolean
  readonly remove?: boolean
  readonly print?: boolean
}

export const makeSetup: MakeCommand = (cli) =>
  new Command('setup')
    .description(
      'Show the settings of a tool for this deployment, write them into its settings file, or take them out.',
    )
    .addArgument(
      new Argument('<tool>', 'openai: every tool or SDK that takes a base URL and a key').choices([
        ...AGENT_NAMES,
        'openai',
      ]),
    )
    .option('--model <id>', 'the model to start with; the default model of your team unless given')
    .addOption(new Option('--write', 'merge them into the settings file of the tool').conflicts(['remove', 'print']))
    .addOption(new Option('--remove', 'take out what --write has written; every other byte stays').conflicts('print'))
    .option('--print', 'print them (what happens without an option)')
    .action((tool: AgentName | 'openai', _options: object, command: Command) =>
      setup(cli, tool, command.optsWithGlobals<Options>()),
    )

async function setup(cli: Cli, tool: AgentName | 'openai', options: Options): Promise<void> {
  if (tool === 'openai') return setUpOpenAi(cli, options)
  if (options.remove) return remove(cli, tool)
  const { environment, output } = cli
  const settings = await findAgentSettings(await openDeployment(environment.folder, options.url), options.model)
  const agent = AGENTS[tool]
  const edit = agent.edit(settings, environment)
  if (!options.write) {
    output.print(agent.print(settings))
    return output.note(`These are settings for ${edit.file}. Write them there: svc setup ${tool} --write`)
  }
  if (isTemporary()) {
    throw new CommandError(
      'The settings name this command by its path, and npx does not keep it. Install it first: npm install -g @svc/cli',
    )
  }
  await writeSettings(environment.folder, tool, explained(edit))
  output.print(`Written into ${edit.file}. ${agent.hint} To take it out: svc setup ${tool} --remove`)
}

async function remove({ environment, output }: Cli, tool: AgentName): Promise<void> {
  const { isDone, kept } = await removeSettings(environment.folder, tool)
  output.print(isDone ? `Taken out of the settings of ${tool}.` : `Nothing of svc is in the settings of ${tool}.`)
  if (kept.length > 0) output.note(`These stay, because they were changed since: ${kept.join(', ')}`)
}

/** A settings file that cannot be read is left as it is, and the message says where it is wrong. */
function explained(edit: Edit): Edit {
  return {
    ...edit,
    change(text) {
      try {
        return edit.change(text)
      } catch (error) {
        if (!(error instanceof JsonTextError || error instanceof TomlTextError)) throw error
        throw new CommandError(`${edit.file} cannot be read: ${error.message}. Nothing was changed.`)
      }
    },
  }
}

/** There is no one settings file: most tools read these two variables. */
async function setUpOpenAi({ environment, output }: Cli, { url, write, remove: isRemoval }: Options): Promise<void> {
  if (write || isRemoval) {
    throw wrongUsage('There is no settings file for this. Put it into your shell yourself: eval "$(svc setup openai)"')
  }
  const deployment = await openDeployment(environment.folder, url)
  const { gatewayUrl } = await findAgentSettings(deployment)
  output.print(
    `export OPENAI_BASE_URL=${gatewayUrl}/v1\nexport OPENAI_API_KEY="$(svc token --new --url ${deployment.url})"`,
  )
  output.note('The token expires within minutes: run eval "$(svc setup openai)" again then.')
}
