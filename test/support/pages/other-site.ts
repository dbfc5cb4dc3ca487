import { createServer } from 'node:http'
import { closeHttpServer, listenOnLoopback } from '../loopback.ts'

/** A web site of another origin than the service, which browsers reach as localhost. */
export type OtherSite = AsyncDisposable & {
  /** `http://127.0.0.1:PORT` */
  readonly origin: string
}

/** The path of the script of an `OtherSite`. */
export const SCRIPT_PATH = '/script.js'

/** Serves this page on all paths, and this script on `SCRIPT_PATH`. */
export async function startOtherSite(page: string, script = ''): Promise<OtherSite> {
  const server = createServer((req, res) =>
    req.url === SCRIPT_PATH
      ? res.setHeader('content-type', 'text/javascript').end(script)
      : res.setHeader('content-type', 'text/html').end(page),
  )
  return {
    origin: `http://127.0.0.1:${await listenOnLoopback(server)}`,
    [Symbol.asyncDispose]: () => closeHttpServer(server),
  }
}
