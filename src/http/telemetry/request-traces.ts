import type { Request } from 'express'
import { addMs } from '../../kernel/clock.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { ServerSpan, Tracer } from '../../kernel/tracer.ts'
import '../request.ts'
import type { EndedRequest, OnRequest } from './request-metrics.ts'

/** Asked every few seconds by load balancers. */
const UNTRACED: ReadonlySet<string> = new Set(['/healthz', '/readyz'])

/**
 * Makes a function that ends the span of each request whose answer has ended. A handler that wants more than the usual
 * HTTP attributes starts the span itself, in `req.span`.
 */
export function makeRequestTraces(tracer: Tracer, clock: Clock): OnRequest {
  return (ended, req) => {
    if (UNTRACED.has(ended.route)) return
    const span = req.span ?? startSpan(tracer, clock, ended, req)
    // Later, because the handler learns in this turn of the event loop that the answer has ended, and adds to the span.
    setImmediate(endSpan, span, ended, req)
  }
}

function startSpan(tracer: Tracer, clock: Clock, { method, route, ms }: EndedRequest, req: Request): ServerSpan {
  const name = hasRoute(req) ? `${method} ${route}` : method
  return tracer.startServerSpan({ name, attributes: {}, startedAt: addMs(clock.now(), -ms) }, req.headers)
}

function endSpan(span: ServerSpan, { method, route, status }: EndedRequest, req: Request): void {
  span.set({
    'http.request.method': method,
    'http.route': hasRoute(req) ? route : null,
    'http.response.status_code': status,
    'svc.request_id': req.id,
  })
  if (status >= 500) span.fail(String(status))
  span.end()
}

/** Whether the contract has the path. Any other path could contain a secret, so spans do not show it. */
function hasRoute(req: Request): boolean {
  return req.contractPath !== undefined
}
