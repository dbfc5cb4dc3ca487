import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import express from 'express'
import { sendPage } from '../../../src/http/page.ts'
import type { Html } from '../../../src/http/page.ts'
import { closeHttpServer, listenOnLoopback } from '../loopback.ts'

export type PageServer = AsyncDisposable & { readonly url: string }

const ASSETS = join(import.meta.dirname, '../../../src/control/pages/assets')

/** Serves sample pages by name on a free loopback port, with the headers and assets of the service. */
export async function servePages(pages: ReadonlyMap<string, Html>): Promise<PageServer> {
  const app = express()
  app.use('/assets', express.static(ASSETS))
  app.get('/assets/simplewebauthn-browser.js', (_req, res) => res.sendFile(LIBRARY))
  app.get('/:name', (req, res, next) => {
    const page = pages.get(req.params.name)
    if (page) sendPage(res, 200, page)
    else next()
  })
  const server = createServer(app)
  const port = await listenOnLoopback(server)
  return {
    // WebAuthn does not accept an IP address.
    url: `http://localhost:${port}`,
    [Symbol.asyncDispose]: () => closeHttpServer(server),
  }
}

const LIBRARY = join(
  dirname(createRequire(import.meta.url).resolve('@simplewebauthn/browser')),
  '../dist/bundle/index.umd.min.js',
)
