/** Sends a request: `fetch`, or a function around it. */
export type Send = (request: Request) => Promise<Response>;
/**
 * Makes a function that keeps each request until its answer was read or given up. In Node.js, one that is collected as
 * garbage meanwhile can neither be cancelled nor time out (nodejs/undici#4068).
 */
export declare function keepRequests(send: Send): Send;
/** Whether sending a request has failed with this error. Others come from the program, as from its token store. */
export declare function isSendError(error: unknown): boolean;
/** Copies a request, so that it can be sent again. For the same reason the copy gets a signal that it keeps. */
export declare function copyRequest(request: Request): Request;
