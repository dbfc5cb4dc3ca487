import type { Directory, DirectoryTeam } from '../../directory/rules.ts'

/** Some teams of one organization, which is known by its index. */
export type TeamPage = { readonly organization: number; readonly teams: readonly DirectoryTeam[] }

/** A message with this many members and names of models is received in about a millisecond. */
const MAX_PAGE_SIZE = 5_000

/** Takes the teams out of a directory, as pages. Each page ends with the team that makes it as large as `maxSize`. */
export function cutTeams(
  directory: Directory,
  maxSize = MAX_PAGE_SIZE,
): { readonly outline: Directory; readonly pages: readonly TeamPage[] } {
  const organizations = directory.organizations.map(({ name }) => ({ name, teams: [] }))
  const pages = directory.organizations.flatMap(({ teams }, organization) =>
    pagesOf(teams, maxSize).map((page) => ({ organization, teams: page })),
  )
  return { outline: { ...directory, organizations }, pages }
}

function pagesOf(teams: readonly DirectoryTeam[], maxSize: number): DirectoryTeam[][] {
  const pages: DirectoryTeam[][] = []
  let size = maxSize
  for (const team of teams) {
    if (size >= maxSize) {
      pages.push([])
      size = 0
    }
    pages.at(-1)?.push(team)
    size += team.members.length + team.models.length
  }
  return pages
}

/** Puts the teams of the pages, in their order, into the directory that they were taken from. */
export function joinTeams(outline: Directory, pages: readonly TeamPage[]): Directory {
  const byOrganization = Map.groupBy(pages, ({ organization }) => organization)
  const organizations = outline.organizations.map(({ name }, at) => {
    return { name, teams: (byOrganization.get(at) ?? []).flatMap(({ teams }) => teams) }
  })
  return { ...outline, organizations }
}
