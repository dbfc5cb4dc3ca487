import type { Environment } from '../environment.ts'
import type { Edit, Start } from '../setup/settings-file.ts'

/** What the settings of an agent are made from. */
export type AgentSettings = {
  readonly deploymentUrl: string
  readonly gatewayUrl: string
  /** The model that the agent starts with. */
  readonly model: string
  /** The models of the team; an alias without `*` is an entry too. `contextWindow` is in tokens; null: unknown. */
  readonly models: readonly { readonly id: string; readonly name: string; readonly contextWindow: number | null }[]
  /** The models by their names, as opencode's configuration describes them. */
  readonly opencodeModels: Readonly<Record<string, unknown>>
  /** Whether `model` was named with `--model`. */
  readonly isModelChosen: boolean
  /** Whether the team has a model with this id or alias. */
  readonly hasModel: (name: string) => boolean
  /** The command that prints a fresh access token. The path of the program is absolute. */
  readonly tokenCommand: readonly [program: string, ...args: string[]]
  /** The same for the shell of this machine: /bin/sh, or cmd.exe of Windows. */
  readonly tokenCommandLine: string
}

/** What the settings name, with the model that they name, if any. */
export function toStart({ deploymentUrl, gatewayUrl }: AgentSettings, model: string | null): Start {
  return { url: deploymentUrl, gatewayUrl, model }
}

/** A proxy to the gateway on a loopback port of this process, and the key that it requires. */
export type LocalGateway = { readonly url: string; readonly key: string }

/** How a process of the agent is started. */
export type Launch = {
  readonly args: readonly string[]
  /** Environment variables to set; undefined removes a variable. */
  readonly variables: Readonly<Record<string, string | undefined>>
}

/** A coding agent: how to start it with settings for one process, and how to change its settings file. */
export type Agent = {
  /** The name of its program. */
  readonly program: string
  readonly installCommand: string
  /** A suffix of model names that is an option for the agent. The agent removes it before it calls the model. */
  readonly modelSuffix?: string
  /** Arguments and variables for one process. Agents that cannot renew a token use `openLocalGateway`. */
  launch(
    settings: AgentSettings,
    openLocalGateway: () => Promise<LocalGateway>,
    environment: Environment,
  ): Promise<Launch>
  /** The same settings as text for its settings file. */
  print(settings: AgentSettings): string
  /** The change of its settings file. */
  edit(settings: AgentSettings, environment: Environment): Edit
  /** Whether `setup --write` makes an API key for it, because it cannot run a command that prints a token. */
  readonly needsKey?: true
}
