import type { Express } from 'express'
import { IncomingMessage, ServerResponse } from './node-http.ts'

/** The classes of the requests and the answers that a server creates. */
export type MessageClasses = {
  readonly IncomingMessage: typeof IncomingMessage
  readonly ServerResponse: typeof ServerResponse
}

/**
 * Makes classes for the server of an app, whose objects have Express's methods from the start. Express changes the
 * prototype of all others with each request, which takes time and makes V8 read their properties more slowly.
 */
export function makeMessageClasses(app: Express): MessageClasses {
  class AppRequest extends IncomingMessage {}
  class AppResponse<Req extends InstanceType<typeof IncomingMessage>> extends ServerResponse<Req> {}
  Object.setPrototypeOf(AppRequest.prototype, app.request)
  Object.setPrototypeOf(AppResponse.prototype, app.response)
  // Express sets these two as the prototypes of requests and answers. They are that already, so nothing changes.
  Object.assign(app, { request: AppRequest.prototype, response: AppResponse.prototype })
  return { IncomingMessage: AppRequest, ServerResponse: AppResponse }
}
