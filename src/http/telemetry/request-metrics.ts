import type { Request } from 'express'
import type { Registry } from 'prom-client'
import { makeHistogram } from './fast-metrics.ts'

/** A request whose answer has ended. */
export type EndedRequest = {
  readonly method: string
  /** The path in the contract, such as `/v1/workers/{id}`; `unknown` for a path that is not in it. */
  readonly route: string
  readonly status: number
  readonly ms: number
}

/** Called for each request whose answer has ended. */
export type OnRequest = (ended: EndedRequest, req: Request) => void

/** Makes the histogram of request durations, by method, route and status. */
export function makeRequestMetrics(registry: Registry): (request: EndedRequest) => void {
  const observe = makeHistogram(registry, {
    name: 'svc_http_request_seconds',
    help: 'From the head of a request to the end of its answer.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.005, 0.025, 0.1, 0.5, 2.5, 10, 60, 600],
  })
  return ({ method, route, status, ms }) => observe(ms / 1000, method, route, String(status))
}
