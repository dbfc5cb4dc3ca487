/** Sends a request: `fetch`, or a function around it. */
export type Send = (request: Request) => Promise<Response>
