import type { RequestHandler } from 'express'
import { newIdentifier } from '../../kernel/identifier.ts'
import type { Logger } from '../../log.ts'
import '../request.ts'
import type { OnRequest } from './request-metrics.ts'

/** Gives the request an id, which its answer and its log lines carry. */
export const assignRequestId: RequestHandler = (req, res, next) => {
  req.id = newIdentifier('req_')
  res.setHeader('x-request-id', req.id)
  res.setHeader('request-id', req.id)
  next()
}

/**
 * Logs one line for each request when its answer has ended, and passes it to `onRequest`. The logged path is the
 * contract's, because the real one may contain a token.
 */
export function logRequests(log: Logger, onRequest?: OnRequest): RequestHandler {
  return (req, res, next) => {
    const startedAt = performance.now()
    res.once('close', () => {
      const ended = {
        method: req.method,
        route: req.contractPath ?? 'unknown',
        status: res.statusCode,
        ms: Math.round(performance.now() - startedAt),
      }
      onRequest?.(ended, req)
      // Fields that are undefined are not written.
      const fields = {
        ...ended,
        code: req.errorCode,
        requestId: req.id,
        accountId: req.caller?.accountId,
        cut: res.writableFinished ? undefined : true,
      }
      log.info(fields, 'http.request')
    })
    next()
  }
}
