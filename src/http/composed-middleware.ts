import type { NextFunction, RequestHandler } from 'express'

/**
 * Composes handlers into one that runs them in order, as Express would: `next()` continues, and an error that is
 * passed, thrown or rejected ends the chain. Express compares the path of each handler with the request's; these
 * handlers apply to every path, so that work is skipped.
 */
export function composeMiddleware(steps: readonly RequestHandler[]): RequestHandler {
  return (req, res, leave) => {
    let at = 0
    const proceed: NextFunction = (error?: unknown) => {
      const step = steps[at++]
      if (error || !step) return leave(error)
      try {
        const running: unknown = step(req, res, proceed)
        if (running instanceof Promise) running.catch(leave)
      } catch (thrown) {
        leave(thrown)
      }
    }
    proceed()
  }
}
