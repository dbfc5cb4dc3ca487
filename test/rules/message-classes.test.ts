import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import express from 'express'
import { expect, it } from 'vitest'
import { makeMessageClasses } from '../../src/http/message-classes.ts'

it('makes requests and answers whose prototypes Express does not change', () => {
  const app = express()
  const classes = makeMessageClasses(app)
  const req = new classes.IncomingMessage(new Socket())
  const res = new classes.ServerResponse(req)
  const prototypes = [Object.getPrototypeOf(req), Object.getPrototypeOf(res)]
  app.use((_req, given) => void given.locals)
  app(req, res)
  expect([Object.getPrototypeOf(req), Object.getPrototypeOf(res)]).toEqual(prototypes)
  expect(req).toMatchObject({ app, get: expect.any(Function) })
  expect(res).toMatchObject({ app, json: expect.any(Function) })
  expect([req instanceof IncomingMessage, res instanceof ServerResponse]).toEqual([true, true])
})
