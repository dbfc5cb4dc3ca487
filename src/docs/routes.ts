import { readFileSync } from 'node:fs'
import type { Contract } from '../http/contract.ts'
import { hasCurrentCopy, makeEtag } from '../http/etag.ts'
import type { Handlers } from '../http/operation.ts'
import { sendPage } from '../http/page.ts'
import { networkKey } from '../http/rate-limit.ts'
import type { RateLimit } from '../http/rate-limit.ts'
import { ipOf } from '../http/request.ts'
import { documentOf } from './document.ts'
import type { DocumentValues } from './document.ts'
import { docsPage } from './page.ts'

type Needs = DocumentValues & {
  readonly contract: Contract
  /** Limits the requests of one network, because the documents can be read without signing in. */
  readonly limit: RateLimit
}

/**
 * The handlers of the contract and of its page. Both are constant while the process runs, so each is made once, at the
 * first request.
 */
export function makeDocsHandlers({
  contract,
  limit,
  ...deployment
}: Needs): Handlers<'getContract' | 'showDocs' | 'getDocsStylesheet'> {
  const document = once(() => documentOf(contract, deployment))
  // Kept as bytes, because converting a quarter of a megabyte for each request would cost much CPU time.
  const documentBytes = once(() => Buffer.from(JSON.stringify(document())))
  const etag = once(() => makeEtag(documentBytes()))
  const pageBytes = once(() => Buffer.from(String(docsPage(document(), deployment))))
  const stylesheet = once(() => readFileSync(new URL('docs.css', import.meta.url)))
  return {
    async getContract(req, res) {
      await limit.take(networkKey(ipOf(req)))
      res.set({ ETag: etag(), 'Cache-Control': 'public, max-age=300' })
      if (hasCurrentCopy(req, etag())) {
        res.statusCode = 304
        return void res.end()
      }
      res.set('Content-Type', 'application/json; charset=utf-8').end(documentBytes())
    },

    async showDocs(req, res) {
      await limit.take(networkKey(ipOf(req)))
      sendPage(res, 200, pageBytes())
    },

    async getDocsStylesheet(req, res) {
      await limit.take(networkKey(ipOf(req)))
      res.set({ 'Content-Type': 'text/css; charset=utf-8', 'Cache-Control': 'public, max-age=300' })
      res.set('X-Content-Type-Options', 'nosniff')
      res.end(stylesheet())
    },
  }
}

function once<Value>(make: () => Value): () => Value {
  let made: Value | undefined
  return () => (made ??= make())
}
