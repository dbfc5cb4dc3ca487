import type { Clock } from '../../kernel/clock.ts'
import type { Logger } from '../../log.ts'
import { closeBackend } from './backend.ts'
import type { Backend, Timeouts } from './backend.ts'
import { UPSTREAM_NAMES } from './table.ts'
import type { BackendName, UpstreamName } from './table.ts'
import { openUpstream } from './upstream.ts'
import type { UpstreamSettings } from './upstream.ts'
import { openWorker } from './worker.ts'
import type { Worker, WorkerSettings } from './worker.ts'

/** Every backend of this gateway. */
export type Backends = {
  /** The local worker; null when it is not configured. */
  readonly worker: Worker | null
  /** A backend; null when it is not configured. */
  find(name: BackendName): Backend | null
  /** Aborts every call and closes every connection. */
  close(): Promise<void>
}

type Needs = Timeouts & {
  readonly upstreams: Readonly<Record<UpstreamName, UpstreamSettings | null>>
  readonly worker: WorkerSettings | null
  readonly clock: Clock
  readonly log: Logger
}

/** Opens the configured backends. Nothing connects before a call needs it. */
export function openBackends({
  upstreams,
  worker: settings,
  connectTimeoutMs,
  idleTimeoutMs,
  clock,
  log,
}: Needs): Backends {
  const byName = new Map<BackendName, Backend>()
  const worker = settings && openWorker(settings, { connectTimeoutMs, clock, log })
  if (worker) byName.set(worker.name, worker)
  for (const name of UPSTREAM_NAMES) {
    const upstream = upstreams[name]
    if (upstream) byName.set(name, openUpstream(name, upstream, { connectTimeoutMs, idleTimeoutMs }))
  }
  return {
    worker,
    find: (name) => byName.get(name) ?? null,
    async close() {
      await Promise.all([...byName.values()].map(closeBackend))
    },
  }
}
