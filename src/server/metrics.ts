import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { collectDefaultMetrics, Counter, Registry } from 'prom-client'
import type { Logger } from '../log.ts'

/** Where the parts of a service put their numbers. */
export type Metrics = Registry

/** The numbers of this process itself; the parts add theirs. */
export function openMetrics(): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  return registry
}

/** The same log, except that it counts its events by name: logins, revocations, what was away. */
export function countEvents(log: Logger, registry: Metrics): Logger {
  const events = new Counter({
    name: 'svc_events_total',
    help: 'What happened, by the name that it has in the log.',
    labelNames: ['event'],
    registers: [registry],
  })
  const counting = (level: keyof Logger) => (fields: object, event: string) => {
    // Requests have numbers of their own.
    if (event !== 'http.request') events.inc({ event })
    log[level](fields, event)
  }
  return { debug: counting('debug'), info: counting('info'), warn: counting('warn'), error: counting('error') }
}

/** Serves the numbers on `/metrics` of a listener of their own: they are for the operator and not for callers. Rejects when it cannot listen. */
export async function serveMetrics(registry: Metrics, host: string, port: number) {
  const server = createServer((req, res) => {
    if (req.url?.split('?')[0] !== '/metrics') return void res.writeHead(404).end()
    registry.metrics().then(
      (text) => void res.writeHead(200, { 'content-type': registry.contentType }).end(text),
      () => void res.writeHead(500).end(),
    )
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  return {
    port: (server.address() as AddressInfo).port,
    close(): Promise<void> {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}
