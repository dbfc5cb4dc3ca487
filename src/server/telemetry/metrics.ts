import type { Registry } from 'prom-client'
import Gauge from 'prom-client/lib/gauge.js'
import MetricsRegistry from 'prom-client/lib/registry.js'
import { createServer } from '../../http/node-http.ts'
import { makeCounter } from '../../http/telemetry/fast-metrics.ts'
import type { Logger } from '../../log.ts'
import { listenOn } from '../listener.ts'
import { isToChild, tellParent } from '../processes/child-messages.ts'

/**
 * Opens a registry with the counter of log events, to which the parts of the service add their metrics. Each start that
 * is tried needs a new one.
 */
export function openMetrics(eventMetrics: Registry): Registry {
  return MetricsRegistry.merge([eventMetrics])
}

/** Adds the metrics of the Node process. A start does not wait for the many modules that they load. */
export async function addProcessMetrics(registry: Registry): Promise<void> {
  const { collectDefaultMetrics } = await import('prom-client')
  collectDefaultMetrics({ register: registry })
}

/** A log whose events are counted, and the registry of their counter: null when metrics are off. */
export type CountedLog<Given extends Logger> = { readonly log: Given; readonly eventMetrics: Registry | null }

/** Wraps a log so that its events are counted by name: logins, revocations, lost connections. */
export function countEvents<Given extends Logger>(log: Given): CountedLog<Given> & { readonly eventMetrics: Registry } {
  const eventMetrics = new MetricsRegistry()
  const countEvent = makeCounter(
    eventMetrics,
    { name: 'svc_events_total', help: 'Log events by name.', labelNames: ['event'] },
    WATCHED_EVENTS.map((event) => [event]),
  )
  const faults = new Gauge({
    name: 'svc_ongoing_faults',
    help: 'Whether the fault of a log event lasts: the number of processes in which it does.',
    labelNames: ['event'],
    registers: [eventMetrics],
  })
  for (const fault of FAULT_ENDS.values()) faults.set({ event: fault }, 0)
  const noteFault = (event: string) => {
    if (FAULTS.has(event)) faults.set({ event }, 1)
    const ended = FAULT_ENDS.get(event)
    if (ended !== undefined) faults.set({ event: ended }, 0)
  }
  const counting = (level: keyof Logger) => (fields: object, event: string) => {
    // Requests have metrics of their own.
    if (event !== 'http.request') {
      countEvent(1, event)
      noteFault(event)
    }
    log[level](fields, event)
  }
  const levels = { debug: counting('debug'), info: counting('info'), warn: counting('warn'), error: counting('error') }
  return { log: { ...log, ...levels }, eventMetrics }
}

/** Events that are logged once and whose fault may last, by the event that ends it. */
const FAULT_ENDS: ReadonlyMap<string, string> = new Map([
  ['call_events.saved', 'call_events.waiting'],
  ['clock.agrees', 'clock.differs'],
  ['control_plane.reachable', 'control_plane.unreachable'],
  ['database.accepted', 'database.refused'],
  ['database.reconnected', 'database.disconnected'],
  ['directory.applied', 'directory.rejected'],
  ['prices.applied', 'prices.rejected'],
  ['redis.connected', 'redis.disconnected'],
  ['traces.connected', 'traces.disconnected'],
])

const FAULTS: ReadonlySet<string> = new Set(FAULT_ENDS.values())

/** The events of the alerts (docs/deploy/prometheus-alerts.yaml) and of the dashboard. Their counts begin with 0. */
const WATCHED_EVENTS = [
  'call.credential_refused',
  'call_events.dropped',
  'call_events.refused',
  'call_events.spool_unreadable',
  'call_events.waiting',
  'clock.differs',
  'database.disconnected',
  'database.refused',
  'device_login.mail_failed',
  'directory.rejected',
  'housekeeping.failed',
  'http.request_failed',
  'prices.rejected',
  'process.ended',
  'redis.disconnected',
  'refresh_token.reused',
]

export type MetricsListener = { readonly port: number; close(): Promise<void> }

/** What is shown at `/metrics`. */
export type Metrics = Pick<Registry, 'metrics'> & { readonly contentType: string }

/** Gives the metrics of this process to the one above it, which asks for them. */
export function shareMetrics(registry: Registry, log: Logger): void {
  process.on('message', (message) => {
    if (!isToChild(message) || message.type !== 'metrics') return
    registry.getMetricsAsJSON().then(
      (metrics) => tellParent({ type: 'metrics', id: message.id, metrics }),
      (err: unknown) => log.error({ err }, 'metrics.failed'),
    )
  })
}

/**
 * Serves `/metrics` on a listener of its own, because metrics are for the operator only. Rejects with an
 * `AddressError`.
 */
export async function serveMetrics(
  registry: Metrics,
  host: string,
  port: number,
  log: Logger,
): Promise<MetricsListener> {
  const server = createServer((req, res) => {
    if (req.url?.split('?')[0] !== '/metrics') return void res.writeHead(404).end()
    registry.metrics().then(
      (text) => void res.writeHead(200, { 'content-type': registry.contentType }).end(text),
      (err: unknown) => {
        log.error({ err }, 'metrics.failed')
        res.writeHead(500).end()
      },
    )
  })
  return {
    port: await listenOn(server, host, port, 'SVC_METRICS_PORT'),
    close(): Promise<void> {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}
