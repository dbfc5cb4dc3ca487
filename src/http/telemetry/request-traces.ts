import type { Request } from 'express'
import { addMs } from '../../kernel/clock.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { ServerSpan, Tracer } from '../../kernel/tracer.ts'
import '../request.ts'
import type { EndedRequest, OnRequest } from './request-metrics.ts'

/** Asked every few seconds by load balancers. */
const UNTRACED: ReadonlySet<string> = new Set(['/healthz', '/readyz'])

/** The methods that the conventions of OpenTelemetry for HTTP know. Others are `_OTHER`, and `HTTP` in a name. */
const KNOWN_METHODS: ReadonlySet<string> = new Set([
  ...['CONNECT', 'DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT', 'QUERY', 'TRACE'],
])

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
  const name = hasRoute(req) ? `${method} ${route}` : KNOWN_METHODS.has(method) ? method : 'HTTP'
  return tracer.startServerSpan({ name, attributes: {}, startedAt: addMs(clock.now(), -ms) }, req.headers)
}

function endSpan(span: ServerSpan, { method, route, status }: EndedRequest, req: Request): void {
  const isKnown = KNOWN_METHODS.has(method)
  span.set({
    'http.request.method': isKnown ? method : '_OTHER',
    'http.request.method_original': isKnown ? null : method,
    'http.route': hasRoute(req) ? route : null,
    // The real path may contain a credential that a client has sent in the place of an id.
    'url.path': hasRoute(req) ? route : '/REDACTED',
    'url.scheme': req.protocol,
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
