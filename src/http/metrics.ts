import type { Registry } from 'prom-client'
import { quickHistogram } from './call-histograms.ts'

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
  const tookSeconds = quickHistogram(registry, {
    name: 'svc_http_request_seconds',
    help: 'From the head of a request to the end of its answer.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.005, 0.025, 0.1, 0.5, 2.5, 10, 60, 600],
  })
  return ({ method, route, status, ms }) => tookSeconds(ms / 1000, method, route, String(status))
}
