import packageJson from '../../package.json' with { type: 'json' }
import type { Config } from '../config/values.ts'
import type { DirectoryCounts } from '../directory/counts.ts'
import { UPSTREAM_NAMES, WORKER_NAME } from '../kernel/backend-name.ts'
import { writeShortList } from '../kernel/formats/short-list.ts'
import { describeMailTarget } from '../mail.ts'

/** The version of the service. */
export const { version } = packageJson

/** What an operator wants to know of a service that starts, without a secret. */
export function describeService(config: Config, counts: DirectoryCounts | null) {
  const { role, baseUrl, database, mail, outboundProxy } = config
  return {
    version,
    role,
    baseUrl,
    database: database?.kind ?? 'none',
    email: mail ? describeMailTarget(mail) : 'none',
    ...(outboundProxy && { outboundProxy: outboundProxy.origin }),
    ...(counts && { teams: counts.teams, members: counts.members, backends: namesOfBackends(config, counts).length }),
  }
}

/** What the directory lacks for anything to work, a sentence each. */
export function findDirectoryWarnings(config: Config, counts: DirectoryCounts | null): string[] {
  if (!counts) return []
  const backends = namesOfBackends(config, counts)
  const warnings = [
    config.role !== 'gateway' &&
      counts.members === 0 &&
      'The directory has no members: nobody can sign in. List them in the file that SVC_DIRECTORY_FILE names.',
    config.role !== 'control-plane' &&
      backends.length === 0 &&
      `No backend is configured: every model call is refused. Set ${UPSTREAM_SETTINGS.join(', ')} or ` +
        'SVC_LOCAL_ENGINE_URL, or list backends in the directory file.',
    config.role !== 'control-plane' && backends.length > 0 && describeUnserved(counts, backends),
  ]
  return warnings.filter((warning) => warning !== false)
}

const UPSTREAM_SETTINGS = UPSTREAM_NAMES.map((name) => `SVC_${name.toUpperCase()}_UPSTREAM_URL`)

/** The configured upstreams, the local worker, and the directory's own backends. */
function namesOfBackends({ upstreams, engine }: Config, counts: DirectoryCounts): readonly string[] {
  const configured = [...UPSTREAM_NAMES.filter((name) => upstreams[name]), ...(engine ? [WORKER_NAME] : [])]
  const ofSettings: readonly string[] = [...UPSTREAM_NAMES, WORKER_NAME]
  return [...configured, ...counts.backends.filter((name) => !ofSettings.includes(name))]
}

/** The maximum number of models that a warning names. */
const MAX_NAMED = 20

/** Says which models of the directory no backend can serve; false: none. */
function describeUnserved({ models }: DirectoryCounts, configured: readonly string[]): string | false {
  const unserved = models.filter(({ backends }) => !backends.some((name) => configured.includes(name)))
  if (unserved.length === 0) return false
  const named = writeShortList(
    unserved.map(({ id }) => id),
    MAX_NAMED,
  )
  return (
    `No configured backend serves ${named}: calls of these models are refused. Configure one that ` +
    'the directory file names for them, or name another one (serve).'
  )
}
