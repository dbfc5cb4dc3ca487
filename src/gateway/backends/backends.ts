import type { Clock } from '../../kernel/clock.ts'
import type { Logger } from '../../log.ts'
import { closeBackend } from './backend.ts'
import type { Backend, Timeouts } from './backend.ts'
import type { BackendName, RouteGroup, UpstreamName } from './table.ts'
import { openUpstream } from './upstream.ts'
import type { UpstreamSettings } from './upstream.ts'
import { openWorker } from './worker.ts'
import type { Worker, WorkerSettings } from './worker.ts'

/** Every backend of this gateway. */
export type Backends = {
  /** The local worker; null when it is not configured. */
  readonly worker: Worker | null
  /** The upstream of a route group; null when it is not configured. */
  ofGroup(group: RouteGroup): Backend | null
  /** A configured backend. */
  get(name: BackendName): Backend
  /** Breaks off every call and closes every connection. */
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
  const open = (name: UpstreamName): Backend | null => {
    const upstream = upstreams[name]
    return upstream && openUpstream(name, upstream, { connectTimeoutMs, idleTimeoutMs })
  }
  const worker = settings && openWorker(settings, { connectTimeoutMs, clock, log })
  const byName: Readonly<Record<BackendName, Backend | null>> = {
    vendora: open('vendora'),
    vendorb: open('vendorb'),
    vendorc: open('vendorc'),
    'local-engine': worker,
  }
  return {
    worker,
    ofGroup: ({ upstream }) => byName[upstream],
    get(name) {
      const backend = byName[name]
      if (!backend) throw new Error(`The backend ${name} is not configured.`)
      return backend
    },
    async close() {
      const opened = Object.values(byName).filter((backend) => backend !== null)
      await Promise.all(opened.map(closeBackend))
    },
  }
}
