import { Argument, Command, Option } from 'commander'
import type { Agent } from '../agents/agent.ts'
import { AGENT_NAMES, AGENTS } from '../agents/agents.ts'
import type { AgentName } from '../agents/agents.ts'
import { PRINTED_NAMES, printSettings } from '../agents/printed-settings.ts'
import type { PrintedName } from '../agents/printed-settings.ts'
import { findAgentSettings, isTemporary } from '../agents/settings.ts'
import { toDays } from '../arguments/whole-number.ts'
import { actionOf } from '../command-line.ts'
import type { Cli, GlobalOptions, MakeCommand } from '../command-line.ts'
import { openDeployment } from '../deployment/deployment.ts'
import type { Deployment } from '../deployment/deployment.ts'
import { findGatewayWithoutDatabase } from '../deployment/gateway-database.ts'
import { CommandError, wrongUsage } from '../failures.ts'
import { withSameTarget } from '../same-target.ts'
import { findWritten, removeSettings, writeSettings } from '../setup/settings-file.ts'
import { provideToolKey, revokeToolKey } from '../setup/tool-key.ts'
import { toLocalTime } from '../terminal/local-time.ts'
import { quoteForShell } from '../terminal/shell.ts'

type Options = GlobalOptions & {
  readonly model?: string
  readonly days?: number
  readonly write?: boolean
  readonly remove?: boolean
  readonly print?: boolean
}

export const makeSetup: MakeCommand = (cli) =>
  new Command('setup')
    .description('Show the settings of a tool for this deployment, write them into its settings file, or remove them.')
    .addArgument(
      new Argument('<tool>', 'the tool; openai stands for every tool or SDK that takes a base URL and a key').choices([
        ...AGENT_NAMES,
        ...PRINTED_NAMES,
      ]),
    )
    .option('--model <id>', 'the model to start with (default: the default model of your team)')
    .addOption(new Option('--write', 'add them to the settings file of the tool').conflicts(['remove', 'print']))
    .addOption(new Option('--remove', 'remove what --write has written; every other byte stays').conflicts('print'))
    .option(
      '--days <days>',
      'for opencode, which gets an API key: after how many days it stops working (default: 90)',
      toDays,
    )
    .option('--print', 'print them (the default)')
    .action(actionOf(cli, setup))

async function setup(cli: Cli, tool: AgentName | PrintedName, options: Options): Promise<void> {
  const makesKey = isAgent(tool) && AGENTS[tool].needsKey && options.write
  if (options.days !== undefined && !makesKey) {
    const write = withSameTarget('svc setup opencode --write --days DAYS', options)
    throw wrongUsage(`--days is for the API key that this command makes: ${write}`)
  }
  if (!isAgent(tool)) return printOnly(cli, tool, options)
  if (options.remove) return remove(cli, tool)
  const { environment, output } = cli
  const agent: Agent = AGENTS[tool]
  const { deployment, settings } = await askDeployment(cli, options, agent.modelSuffix)
  const edit = agent.edit(settings, environment)
  if (!options.write) {
    output.print(agent.print(settings))
    const key = agent.needsKey ? ', which also makes the API key that they name' : ''
    const model = options.model === undefined ? '' : ` --model ${quoteForShell(options.model, environment.platform)}`
    const write = withSameTarget(`svc setup ${tool} --write${model}`, options)
    return output.note(`These are settings for ${edit.file}. Write them there: ${write}${key}`)
  }
  if (isTemporary(environment)) {
    throw new CommandError(
      'The settings would name this command by its path, and npx deletes it later. Install it first: ' +
        'npm install -g, with the package that you gave npx.',
    )
  }
  const write = () => writeSettings(environment.folder, tool, edit)
  if (agent.needsKey) await writeWithKey(cli, { deployment, tool, options, write })
  else await write()
  output.print(
    `Written into ${edit.file}. Start ${agent.program} as you always do. To remove it: svc setup ${tool} --remove`,
  )
}

async function askDeployment(cli: Cli, { url, model }: Options, suffix?: string) {
  const deployment = await openDeployment(cli, url)
  return { deployment, settings: await findAgentSettings(deployment, cli.environment, model, suffix) }
}

function isAgent(tool: AgentName | PrintedName): tool is AgentName {
  return Object.hasOwn(AGENTS, tool)
}

type KeyedWrite = {
  readonly deployment: Deployment
  readonly tool: AgentName
  readonly options: Options
  write(): Promise<void>
}

/**
 * Provides the API key and writes the settings. A new key is revoked when the settings cannot be written, unless
 * earlier ones use it.
 */
async function writeWithKey(cli: Cli, { deployment, tool, options, write }: KeyedWrite) {
  const { environment, output } = cli
  const gatewayUrl = await findGatewayWithoutDatabase(deployment)
  if (gatewayUrl !== null) {
    const run = withSameTarget(`svc run ${tool}`, options)
    throw new CommandError(
      `The gateway at ${gatewayUrl} has no database, so it refuses API keys, and ${tool} needs one. Use: ${run}`,
    )
  }
  const { info, isNew, warning } = await provideToolKey(cli, deployment, tool, options.days)
  try {
    await write()
  } catch (error) {
    const isUsed = (await findWritten(environment.folder, tool)) !== null
    if (isNew && !isUsed) await revokeToolKey(cli, tool)
    throw error
  }
  const until = toLocalTime(info.expiresAt)
  output.note(`Its API key is "${info.name}", which works until ${until}. See: ${withSameTarget('svc keys', options)}`)
  if (warning !== null) output.note(warning)
}

/** Undoes `--write`: takes the settings out, and then revokes the API key. */
async function remove(cli: Cli, tool: AgentName): Promise<void> {
  const { environment, output } = cli
  const { isDone, kept } = await removeSettings(environment.folder, tool)
  output.print(isDone ? `Removed from the settings of ${tool}.` : `Nothing of svc is in the settings of ${tool}.`)
  if (kept.length > 0) output.note(`These stay, because they were changed since: ${kept.join(', ')}`)
  await revokeToolKey(cli, tool)
}

async function printOnly(cli: Cli, tool: PrintedName, options: Options): Promise<void> {
  if (options.write || options.remove) {
    const print = withSameTarget(`svc setup ${tool}`, options)
    throw wrongUsage(`The settings of ${tool} are only printed. Put them in place yourself: ${print}`)
  }
  const { environment, output } = cli
  const { settings } = await askDeployment(cli, options)
  const { text, note } = printSettings(tool, settings, { environment, url: options.url })
  output.print(text)
  output.note(note)
}
