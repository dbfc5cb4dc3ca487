import type { NextFunction, RequestHandler } from 'express'

/**
 * One handler that runs these one after the other, as Express would: a call of `next` goes on, an error, thrown or rejected ones included,
 * leaves. All of them are for every path, so none is compared with the request's, which costs Express as much as they do.
 */
export function inTurn(steps: readonly RequestHandler[]): RequestHandler {
  return (req, res, leave) => {
    let at = 0
    const goOn: NextFunction = (error?: unknown) => {
      const step = steps[at++]
      if (error || !step) return leave(error)
      try {
        const running: unknown = step(req, res, goOn)
        if (running instanceof Promise) running.catch(leave)
      } catch (thrown) {
        leave(thrown)
      }
    }
    goOn()
  }
}
