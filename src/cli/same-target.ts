/** The options that say which deployment and which team a command is about. `team` is true for the own team. */
export type TargetOptions = { readonly url?: string | undefined; readonly team?: string | true | undefined }

/** A command for people to run next, with the options that named the deployment and the team of this one. */
export function withSameTarget(command: string, { url, team }: TargetOptions): string {
  const ofTeam = typeof team === 'string' ? ` --team ${team}` : ''
  const ofDeployment = url === undefined ? '' : ` --url ${url}`
  return command + ofTeam + ofDeployment
}
