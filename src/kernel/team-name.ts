/** Identifies a team by name; team names are unique within their organization. */
export type TeamName = { readonly organization: string; readonly name: string }

const NAME = '[a-z0-9][a-z0-9._-]{0,63}'
const namePattern = new RegExp(`^${NAME}$`)
const teamPattern = new RegExp(`^@(${NAME})/(${NAME})$`)

/** Whether this is a valid name: 1 to 64 of `a-z 0-9 . _ -`, starting with a letter or a digit. */
export function isName(text: string): boolean {
  return namePattern.test(text)
}

/** Parses `@organization/name`; null when the text does not have that form. */
export function parseTeamName(text: string): TeamName | null {
  const [, organization, name] = teamPattern.exec(text) ?? []
  return organization && name ? { organization, name } : null
}

/** `@organization/name`. */
export function formatTeamName({ organization, name }: TeamName): string {
  return `@${organization}/${name}`
}

/** The prefix of models and backends that admins of a team add: `organization/team/` of `@organization/team`. */
export function prefixOfTeam(team: string): string {
  return `${team.slice(1)}/`
}

/** A team as the database has it: its name, and its organization with the name of that. */
export type TeamWithOrganization = { readonly name: string; readonly organization: { readonly name: string } }

/** `@organization/name` of a team as the database has it. */
export function teamNameOf({ name, organization }: TeamWithOrganization): string {
  return formatTeamName({ organization: organization.name, name })
}
