import packageJson from '../../package.json' with { type: 'json' }
import type { Config } from '../config/values.ts'
import type { DirectoryCounts } from '../directory/counts.ts'
import { UPSTREAM_NAMES, WORKER_NAME } from '../kernel/backend-name.ts'
import { describeMailTarget } from '../mail.ts'

/** The version of the service. */
export const { version } = packageJson

/** What an operator wants to know of a service that starts, without a secret. */
export function describeService(config: Config, counts: DirectoryCounts | null) {
  const { role, baseUrl, database, mail } = config
  return {
    version,
    role,
    baseUrl,
    database: database?.kind ?? 'none',
    email: mail ? describeMailTarget(mail) : 'none',
    ...(counts && { teams: counts.teams, members: counts.members, backends: countBackends(config, counts) }),
  }
}

/** What the directory lacks for anything to work, a sentence each. */
export function findDirectoryWarnings(config: Config, counts: DirectoryCounts | null): string[] {
  if (!counts) return []
  const warnings = [
    config.role !== 'gateway' &&
      counts.members === 0 &&
      'The directory has no members: nobody can sign in. List them in the file that SVC_DIRECTORY_FILE names.',
    config.role !== 'control-plane' &&
      countBackends(config, counts) === 0 &&
      `No backend is configured: every model call is refused. Set ${UPSTREAM_SETTINGS.join(', ')} or ` +
        'SVC_LOCAL_ENGINE_URL, or list backends in the directory file.',
  ]
  return warnings.filter((warning) => warning !== false)
}

const UPSTREAM_SETTINGS = UPSTREAM_NAMES.map((name) => `SVC_${name.toUpperCase()}_UPSTREAM_URL`)

/** The configured upstreams, the local worker, and the directory's own backends. */
function countBackends({ upstreams, engine }: Config, counts: DirectoryCounts): number {
  const configured = UPSTREAM_NAMES.filter((name) => upstreams[name])
  const ofSettings: readonly string[] = [...UPSTREAM_NAMES, WORKER_NAME]
  const listed = counts.backends.filter((name) => !ofSettings.includes(name))
  return configured.length + (engine ? 1 : 0) + listed.length
}
