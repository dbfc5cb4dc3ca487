import { EventEmitter } from 'node:events'
import { Readable } from 'node:stream'
import type { Request, Response } from 'express'
import { expect, it } from 'vitest'
import { openBodyBudget } from '../../src/http/body-budget.ts'
import { callBody } from '../../src/http/call-body.ts'
import { collectGarbage } from '../support/garbage.ts'

const LIMIT_BYTES = 100_000

/** Sends chunks without a length to the middleware. Resolves with the refusal, and what its chunks are then. */
async function refuse(): Promise<{ refusal: unknown; chunks: WeakRef<Buffer>[] }> {
  const chunks: WeakRef<Buffer>[] = []
  const body = function* () {
    for (let count = 0; count < 3; count++) {
      const chunk = Buffer.alloc(LIMIT_BYTES / 2)
      chunks.push(new WeakRef(chunk))
      yield chunk
    }
  }
  const headers = { 'content-type': 'application/json', 'transfer-encoding': 'chunked' }
  const req = Object.assign(Readable.from(body()), { headers }) as unknown as Request
  const res = Object.assign(new EventEmitter(), { closed: false }) as unknown as Response
  const needs = { limitBytes: LIMIT_BYTES, budget: openBodyBudget(LIMIT_BYTES) }
  const read = callBody({ ...needs, setBody: () => undefined, releaseBody: () => undefined })
  const refusal = await new Promise((next) => void read(req, res, next))
  return { refusal, chunks }
}

// Express keeps the errors of a request as long as the request, which Node.js keeps while its connection is idle.
it('a refused body is not kept by its refusal', async () => {
  const { refusal, chunks } = await refuse()
  expect(refusal).toMatchObject({ code: 'payload_too_large' })
  await collectGarbage()
  expect(chunks.map((chunk) => chunk.deref())).toEqual([undefined, undefined, undefined])
})
