import type { AdminBackendTrust } from '../../directory/admin-backends.ts'
import type { DirectorySnapshot } from '../../directory/snapshot.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { ReadSecret } from '../../kernel/credentials/secret-source.ts'
import type { Logger } from '../../log.ts'
import { closeBackend } from './backend.ts'
import type { Backend, PoolSettings } from './backend.ts'
import { openListedBackends } from './listed.ts'
import type { BackendRow } from './listed.ts'
import { makeSharedLookup } from './shared-lookup.ts'
import { openUpstreams } from './upstreams.ts'
import type { AllUpstreamSettings } from './upstreams.ts'
import { fixedDialects } from './vendor.ts'
import { openWorker } from './worker.ts'
import type { Worker, WorkerSettings } from './worker.ts'

/** Every backend of this gateway. */
export type Backends = {
  /** The local worker; null when it is not configured. */
  readonly worker: Worker | null
  /** A backend; null when it is not configured. */
  find(name: string): Backend | null
  /** Every backend that can be called. */
  list(): readonly Backend[]
  /** The backends of the directory that cannot be called here: a credential is missing, or a host is not allowed. */
  listUnusable(): readonly BackendRow[]
  /**
   * Makes the backends those of this directory: opens what is new, and closes what it lists no more after its running
   * calls.
   */
  apply(directory: AppliedDirectory): void
  /** Aborts every call and closes every connection. */
  close(): Promise<void>
}

type AppliedDirectory = Pick<DirectorySnapshot, 'backends' | 'adminBackends'>

type Needs = Omit<PoolSettings, 'lookup'> & {
  readonly upstreams: AllUpstreamSettings
  readonly worker: WorkerSettings | null
  readonly readSecret: ReadSecret
  /** Null: backends of admins are not called. */
  readonly adminBackends: AdminBackendTrust | null
  readonly clock: Clock
  readonly log: Logger
}

/** How often the files of credentials are read. Some vendors have tokens that another program renews every hour. */
const CREDENTIALS_EVERY_MS = 5_000

/** Opens the backends of the settings. Nothing connects before a call needs it. */
export function openBackends(needs: Needs): Backends {
  const { worker: settings, connectTimeoutMs, outboundProxy, clock, log } = needs
  const lookup = makeSharedLookup()
  const worker = settings && openWorker(settings, { connectTimeoutMs, lookup, outboundProxy, clock, log })
  const upstreams = openUpstreams(needs.upstreams, { ...needs, lookup })
  const configured = worker ? [worker, ...upstreams] : upstreams
  const listed = openListedBackends({ ...needs, lookup })
  let byName = toMap(configured)
  let applied: AppliedDirectory | null = null

  function apply(directory: AppliedDirectory): void {
    const { backends: rows, adminBackends } = directory
    const dialectsOf = new Map(rows.map(({ name, dialects }) => [name, dialects]))
    const own = upstreams.map((upstream) => {
      const dialects = dialectsOf.get(upstream.name)
      return dialects ? { ...upstream, dialects: fixedDialects(dialects) } : upstream
    })
    byName = toMap([...listed.apply([...rows, ...adminBackends]), ...own, ...(worker ? [worker] : [])])
    applied = directory
  }

  const renewal = setInterval(() => {
    if (applied && listed.hasRenewedCredential()) apply(applied)
  }, CREDENTIALS_EVERY_MS).unref()
  return {
    worker,
    find: (name) => byName.get(name) ?? null,
    list: () => [...byName.values()],
    listUnusable: listed.listUnusable,
    apply,
    async close() {
      clearInterval(renewal)
      await Promise.all([...configured.map(closeBackend), listed.close()])
    },
  }
}

function toMap(backends: readonly Backend[]): ReadonlyMap<string, Backend> {
  return new Map(backends.map((backend) => [backend.name, backend]))
}
