import { readFileSync } from 'node:fs'
import type { Response } from 'express'
import type { Contract } from '../http/contract.ts'
import type { Handlers } from '../http/operation.ts'
import { sendPage } from '../http/page.ts'
import { documentOf } from './document.ts'
import type { DocumentValues } from './document.ts'
import { docsPage } from './page.ts'

type Needs = DocumentValues & { readonly contract: Contract }

/**
 * The handlers of the contract and of its page. Both are constant while the process runs, so each is made once, at the
 * first request.
 */
export function docsRoutes({
  contract,
  ...deployment
}: Needs): Handlers<'getContract' | 'showDocs' | 'getDocsStylesheet'> {
  const document = once(() => documentOf(contract, deployment))
  const page = once(() => docsPage(document()))
  const stylesheet = once(() => readFileSync(new URL('docs.css', import.meta.url)))
  return {
    async getContract(_req, res) {
      res.set('Cache-Control', 'public, max-age=300')
      // The schema of this answer describes any OpenAPI document; the handler sends this one.
      res.status(200).json(document() as never)
    },

    async showDocs(_req, res) {
      // The type of the reply has only JSON answers.
      sendPage(res as unknown as Response, 200, page())
    },

    async getDocsStylesheet(_req, res) {
      res.set({ 'Content-Type': 'text/css; charset=utf-8', 'Cache-Control': 'public, max-age=300' })
      res.set('X-Content-Type-Options', 'nosniff')
      res.end(stylesheet())
    },
  }
}

function once<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined
  return () => (made ??= { value: make() }).value
}
