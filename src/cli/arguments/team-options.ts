import { InvalidArgumentError } from 'commander'
import type { Command } from 'commander'
import { parseTeamName, prefixOfTeam } from '../../kernel/team-name.ts'
import type { Cli, GlobalOptions } from '../command-line.ts'
import { openDeployment } from '../deployment/deployment.ts'
import type { Deployment } from '../deployment/deployment.ts'

/** Options of the commands about one team. */
export type TeamOptions = GlobalOptions & { readonly team?: string; readonly json?: boolean }

/** Adds `--team` and `--json` to a command; its subcommands take them too. */
export function withTeamOptions(command: Command): Command {
  return withTeamOption(command).option('--json', 'print JSON')
}

/** Adds `--team` to a subcommand of a command that has `--json`. */
export function withTeamOption(command: Command): Command {
  return command.option('--team <team>', '@organization/name (default: your own team)', toTeam)
}

/** Checks the value of an option that is a team. Throws commander's error for wrong usage. */
export function toTeam(text: string): string {
  if (!parseTeamName(text)) throw new InvalidArgumentError('Write a team as @organization/name.')
  return text
}

/** The whole name of a team's model or backend: `writer` of `@acme/core` is `acme/core/writer`. */
export function toNameInTeam(team: string, name: string): string {
  return name.includes('/') ? name : prefixOfTeam(team) + name
}

/** Opens the deployment. The team is that of the options, or else that of the sign-in. */
export async function openTeam(
  cli: Cli,
  { url, team }: TeamOptions,
): Promise<{ readonly deployment: Deployment; readonly control: Deployment['control']; readonly team: string }> {
  const deployment = await openDeployment(cli, url)
  return { deployment, control: deployment.control, team: team ?? deployment.profile.team }
}
