import { Histogram } from 'prom-client'
import type { Registry } from 'prom-client'

/** A request that is over. */
export type EndedRequest = {
  readonly method: string
  /** Of the contract; `unknown` where there is none. */
  readonly route: string
  readonly status: number
  readonly ms: number
}

/** Counts requests and how long they took, by route and status. */
export function requestMetrics(registry: Registry): (request: EndedRequest) => void {
  const seconds = new Histogram({
    name: 'svc_http_request_seconds',
    help: 'From the head of a request to the end of its answer.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.005, 0.025, 0.1, 0.5, 2.5, 10, 60, 600],
    registers: [registry],
  })
  return ({ method, route, status, ms }) => seconds.observe({ method, route, status }, ms / 1000)
}
