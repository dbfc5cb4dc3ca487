import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import express from 'express'
import { sendPage } from '../../../src/http/page.ts'
import { closeHttpServer, listenOnLoopback } from '../loopback.ts'
import type { SamplePage } from './sample-pages.ts'

export type PageServer = AsyncDisposable & { readonly url: string }

const ASSETS = new URL('../../../src/control/pages/assets/', import.meta.url)

/** Serves sample pages by name on a free loopback port, with the headers and assets of the service. */
export async function servePages(pages: ReadonlyMap<string, SamplePage>): Promise<PageServer> {
  const app = express()
  app.get(
    '/assets/auth.css',
    async (_req, res) => void res.type('css').send(await readFile(new URL('auth.css', ASSETS))),
  )
  app.get(
    '/assets/passkeys.js',
    async (_req, res) => void res.type('js').send(await readFile(new URL('passkeys.js', ASSETS))),
  )
  app.get(
    '/assets/session.js',
    async (_req, res) => void res.type('js').send(await readFile(new URL('session.js', ASSETS))),
  )
  app.get('/assets/simplewebauthn-browser.js', async (_req, res) => void res.type('js').send(await readFile(LIBRARY)))
  app.get('/:name', (req, res, next) => {
    const sample = pages.get(req.params.name)
    if (sample) sendPage(res, 200, sample.page, { scripts: sample.scripts })
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
