/**
 * What the service uses of `node:http`. An `import` of `node:http` reads all that it exports, and so loads Node's own
 * copy of undici for `http.WebSocket`, and HTTP/2 with it, which takes 45 ms of each start.
 */
export const { createServer, request, IncomingMessage, ServerResponse } = process.getBuiltinModule('node:http')
