import type { Environment } from '../environment.ts'
import type { Edit } from '../setup/settings-file.ts'

/** What an agent must know to use a deployment. */
export type AgentSettings = {
  readonly gatewayUrl: string
  /** The model that the agent starts with. */
  readonly model: string
  /** Every model of the team by each of its names. `contextWindow` is in tokens; null where it is not known. */
  readonly models: readonly { readonly id: string; readonly name: string; readonly contextWindow: number | null }[]
  /** The person has chosen the model. */
  readonly isModelChosen: boolean
  /** Whether a model has this id or alias. */
  readonly hasModel: (name: string) => boolean
  /** A program with its arguments that prints a fresh access token, by an absolute path. */
  readonly tokenCommand: readonly [program: string, ...args: string[]]
}

/** The gateway on a loopback port of this process. */
export type LocalGateway = { readonly url: string; readonly key: string }

/** How a process of the agent is started. */
export type Launch = {
  readonly args: readonly string[]
  /** Changes of the environment; undefined takes a variable out. */
  readonly variables: Readonly<Record<string, string | undefined>>
}

/** A coding agent: how to start it with settings of its own, and how its settings file is written. */
export type Agent = {
  /** The name of its program. */
  readonly program: string
  readonly installCommand: string
  /** Starts it for one process; `openLocalGateway` is for agents that cannot renew a token by themselves. */
  launch(settings: AgentSettings, openLocalGateway: () => Promise<LocalGateway>): Promise<Launch>
  /** The same settings as a text of its settings file. */
  print(settings: AgentSettings): string
  /** The change of its settings file. */
  edit(settings: AgentSettings, environment: Environment): Edit
  /** Whether `setup --write` makes an API key for it, because it cannot run a command that prints a token. */
  readonly needsKey?: true
  /** What to know after `setup --write`. */
  readonly hint: string
}
