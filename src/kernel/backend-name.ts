import { formatTeamName } from './team-name.ts'

/** The backends whose URL and credential are settings of their own. */
export const UPSTREAM_NAMES = ['vendora', 'vendorb', 'vendorc'] as const

export type UpstreamName = (typeof UPSTREAM_NAMES)[number]

/** The local worker: one inference server, on this machine or near it. */
export const WORKER_NAME = 'local-engine' as const

/** The gateway itself, for the few answers that it gives without a backend. */
export const GATEWAY_NAME = 'gateway'

/** Whether a name is that of an upstream with settings of its own. */
export function isUpstreamName(name: string): name is UpstreamName {
  return (UPSTREAM_NAMES as readonly string[]).includes(name)
}

/**
 * The team whose admins have added a backend, from its name `organization/team/name`, as `@organization/team`; null for
 * a backend of the directory file or of the settings, whose names have no slash.
 */
export function teamOfBackend(name: string): string | null {
  const [organization, team, own] = name.split('/')
  return organization && team && own ? formatTeamName({ organization, name: team }) : null
}
