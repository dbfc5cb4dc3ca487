/** A team in words: names are unique inside their organization. */
export type TeamName = { readonly organization: string; readonly name: string }

const NAME = '[a-z0-9][a-z0-9._-]{0,63}'
const namePattern = new RegExp(`^${NAME}$`)
const teamPattern = new RegExp(`^@(${NAME})/(${NAME})$`)

/** Whether an organization or a team may be called this: 1 to 64 of `a-z 0-9 . _ -`, the first a letter or digit. */
export function isName(text: string): boolean {
  return namePattern.test(text)
}

/** Reads `@organization/name`; null when it is not of that form. */
export function parseTeamName(text: string): TeamName | null {
  const [, organization, name] = teamPattern.exec(text) ?? []
  return organization && name ? { organization, name } : null
}

/** `@organization/name`. */
export function formatTeamName({ organization, name }: TeamName): string {
  return `@${organization}/${name}`
}
